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

/** The receivers of a tenant's alerts. */
export interface Receivers {
  /** Alertmanagers; all get everything. The path `/api/v2/alerts` is appended. */
  readonly alertmanagers: readonly Receiver[];
  /** Webhooks, which get what an Alertmanager's receivers get (version 4). */
  readonly webhooks: readonly Receiver[];
}

export const NO_RECEIVERS: Receivers = { alertmanagers: [], webhooks: [] };

const KEY = 'all';

/** The receivers of tenants: a document each. */
export class ReceiverStore {
  private readonly receivers: Documents<Receivers>;

  constructor(table: Table) {
    this.receivers = new Documents(table, 'receivers');
  }

  async get(tenantId: Id): Promise<Receivers> {
    return (await this.receivers.get(tenantId, KEY)) ?? NO_RECEIVERS;
  }

  async put(tenantId: Id, receivers: Receivers): Promise<void> {
    await this.receivers.settle(tenantId, KEY, () => receivers);
  }
}
