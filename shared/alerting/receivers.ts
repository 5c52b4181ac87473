import type { Id } from '../model/id';
import type { Table } from '../platform/table';
import { Documents } from '../registry/documents';

/** An address that notifications are sent to. */
export interface Receiver {
  /** `https://...`, without credentials. */
  readonly url: string;
  /** The header `authorization` of requests, such as `Bearer ...`. */
  readonly authorization?: string;
}

/** What a channel of our own is told, and when again. */
export interface ChannelOptions {
  /** Matchers of labels, all of which an alert must satisfy: `severity="page"`. @default every alert */
  readonly match?: readonly string[];
  /** The channel is told again each time that an alert has fired for a multiple of this: a duration. @default 4h */
  readonly repeatInterval?: string;
}

/** The receivers of a tenant's alerts. */
export interface Receivers {
  /** Alertmanagers; all get everything. The path `/api/v2/alerts` is appended. */
  readonly alertmanagers: readonly Receiver[];
  /** Webhooks, which get what an Alertmanager's receivers get (version 4). */
  readonly webhooks: readonly (Receiver & ChannelOptions)[];
  /** Webhooks that take Slack's messages. Their URLs are secrets. */
  readonly slack: readonly ({ readonly url: string } & ChannelOptions)[];
  /** Topics of SNS. */
  readonly topics: readonly ({ readonly topicArn: string } & ChannelOptions)[];
}

export const NO_RECEIVERS: Receivers = { alertmanagers: [], webhooks: [], slack: [], topics: [] };

const KEY = 'all';

/** The receivers of tenants: a document each. */
export class ReceiverStore {
  private readonly receivers: Documents<Partial<Receivers>>;

  constructor(table: Table) {
    this.receivers = new Documents(table, 'receivers');
  }

  async get(tenantId: Id): Promise<Receivers> {
    // A kind that the document lacks has no receivers.
    return { ...NO_RECEIVERS, ...(await this.receivers.get(tenantId, KEY)) };
  }

  async put(tenantId: Id, receivers: Receivers): Promise<void> {
    await this.receivers.settle(tenantId, KEY, () => receivers);
  }
}
