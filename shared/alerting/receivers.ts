import type { Id } from '../model/id';
import type { Table } from '../platform/table';
import { Documents } from '../registry/documents';

/** An address to which notifications are sent. */
export interface Receiver {
  /** An https URL without credentials. */
  readonly url: string;
  /** The header `authorization` of requests, such as `Bearer ...`. */
  readonly authorization?: string;
}

/** Which alerts a channel receives, and how often they are repeated. */
export interface ChannelOptions {
  /**
   * Matchers that an alert's labels must all satisfy, such as `severity="page"`.
   *
   * @default every alert
   */
  readonly match?: readonly string[];
  /**
   * Interval between repeated notifications of an alert that keeps firing, as a duration.
   *
   * @default 4h
   */
  readonly repeatInterval?: string;
}

export interface Receivers {
  /** Alertmanagers. Each receives all alerts, at its URL with `/api/v2/alerts` appended. */
  readonly alertmanagers: readonly Receiver[];
  /** Webhooks that receive bodies in Alertmanager's format, version 4. */
  readonly webhooks: readonly (Receiver & ChannelOptions)[];
  /** Webhooks that accept Slack's messages. Their URLs are secrets. */
  readonly slack: readonly ({ readonly url: string } & ChannelOptions)[];
  /** SNS topics. */
  readonly topics: readonly ({ readonly topicArn: string } & ChannelOptions)[];
}

export const NO_RECEIVERS: Receivers = { alertmanagers: [], webhooks: [], slack: [], topics: [] };

const KEY = 'all';

/** Stores tenants' receivers, in one document each. */
export class ReceiverStore {
  private readonly receivers: Documents<Partial<Receivers>>;

  constructor(table: Table) {
    this.receivers = new Documents(table, 'receivers');
  }

  async get(tenantId: Id): Promise<Receivers> {
    // The stored document may lack some kinds of receivers; their lists are empty.
    return { ...NO_RECEIVERS, ...(await this.receivers.get(tenantId, KEY)) };
  }

  async put(tenantId: Id, receivers: Receivers): Promise<void> {
    await this.receivers.createOrChange(tenantId, KEY, () => receivers);
  }
}
