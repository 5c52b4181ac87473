import type { Id } from '../model/id';
import { isGivenId } from '../model/random-id';
import { mapLimited } from '../platform/concurrency';
import type { Table } from '../platform/table';
import { Documents } from '../registry/documents';
import { type AlertEvent, seconds } from './alert-event';
import type { AlertLog, AlertRecord } from './alert-record';

export interface Page<T> {
  readonly items: readonly T[];
  /** Id of the last entry on the page; undefined if no more follow. */
  readonly nextId: string | undefined;
}

/**
 * An alert as stored. `changedMs` is the Unix time of its last change, in ms. It ensures that recording an event twice
 * never undoes a later event.
 */
interface StoredAlert {
  readonly alert: AlertRecord;
  readonly changedMs: number;
}

/** Number of alerts recorded in parallel. */
const PARALLEL = 16;

/**
 * Stores alerts of monitors and checks, so that they can be listed. An alert is recorded from the outbox before
 * channels are notified. The registry also records its own events (manual closes, check reports, host retirements)
 * directly. Ids sort by opening time. An alert moves from `open-alerts` to `alerts` when it closes.
 */
export class AlertStore {
  private readonly open: Documents<StoredAlert>;
  private readonly closed: Documents<StoredAlert>;
  private readonly logs: Documents<AlertLog>;

  /**
   * @param retentionMs how long a closed alert is kept after its end, and a log entry after its time. Open alerts do
   *   not expire
   */
  constructor(table: Table, retentionMs: number) {
    const expiryOf = (timeS: number) => timeS + Math.ceil(retentionMs / 1000);
    this.open = new Documents(table, 'open-alerts');
    this.closed = new Documents(table, 'alerts', ({ alert }) => expiryOf(alert.closedAt ?? alert.openedAt));
    this.logs = new Documents(table, 'alert-logs', ({ createdAt }) => expiryOf(createdAt));
  }

  /** Records events. Events of one alert stay in order. Safe to retry. */
  async record(tenantId: Id, events: readonly AlertEvent[]): Promise<void> {
    const ofAlerts = [...Map.groupBy(events, ({ alert }) => alert.id).values()];
    await mapLimited(ofAlerts, PARALLEL, async (each) => {
      for (const event of each) await this.recordOne(tenantId, event);
    });
  }

  private async recordOne(tenantId: Id, event: AlertEvent): Promise<void> {
    const { kind, atMs } = event;
    const alertId = event.alert.id;
    if (kind === 'repeated') return;
    if (kind !== 'updated') {
      const log = logOf(event);
      await this.logs.create(tenantId, log.id, log);
    }
    if (kind === 'closed') {
      const found = await this.open.get(tenantId, alertId);
      const { memo } = found?.alert ?? {};
      const alert = { ...recordOf(event), ...(memo !== undefined && { memo }) };
      await this.closed.create(tenantId, alertId, { alert, changedMs: atMs });
      const removed = await this.open.remove(tenantId, alertId);
      const latest = removed?.alert.memo;
      // A user has set the memo after it was read above. A memo that was set on the closed alert is later still.
      if (latest !== undefined && latest !== memo)
        await this.closed.change(tenantId, alertId, (stored) =>
          stored.alert.memo === memo ? withMemo(stored, latest) : stored,
        );
      return;
    }
    if ((await this.closed.get(tenantId, alertId)) !== undefined) return;
    await this.open.createOrChange(tenantId, alertId, (stored) => {
      if (stored !== undefined && stored.changedMs >= atMs) return stored;
      const memo = stored?.alert.memo;
      return { alert: { ...recordOf(event), ...(memo !== undefined && { memo }) }, changedMs: atMs };
    });
    // Look again: if another writer has closed the alert since the first look, this event has brought it back.
    if ((await this.closed.get(tenantId, alertId)) !== undefined) await this.open.remove(tenantId, alertId);
  }

  async get(tenantId: Id, id: string): Promise<AlertRecord | undefined> {
    if (!isGivenId(id)) return undefined;
    // Read the open alerts first. An alert that closes is added to the closed alerts before it is removed from the open
    // ones, so one of the two reads finds it.
    const open = await this.open.get(tenantId, id);
    return ((await this.closed.get(tenantId, id)) ?? open)?.alert;
  }

  /**
   * Returns alerts, the latest opened first.
   *
   * @param after id of an alert; only alerts opened before it are returned
   */
  async list(
    tenantId: Id,
    {
      withClosed,
      after,
      limit,
    }: { readonly withClosed: boolean; readonly after?: string; readonly limit: number },
  ): Promise<Page<AlertRecord>> {
    const first = async (documents: Documents<StoredAlert>) => {
      const options = { isDescending: true, page: limit + 1, ...(after !== undefined && { after }) };
      return firstOf(documents.list(tenantId, options), limit + 1);
    };
    // Read the open alerts first, as `get` does. So an alert that closes during the read is found among the open alerts,
    // the closed alerts, or both.
    const open = await first(this.open);
    const closed = withClosed ? await first(this.closed) : [];
    const byId = new Map([...open, ...closed].map(({ key, value }) => [key, value.alert]));
    return pageOf(
      [...byId.values()].sort((a, b) => (a.id < b.id ? 1 : -1)),
      limit,
    );
  }

  /**
   * Sets the memo of an alert.
   *
   * @returns false when there is no such alert
   */
  async setMemo(tenantId: Id, id: string, memo: string): Promise<boolean> {
    if (!isGivenId(id)) return false;
    const change = (stored: StoredAlert) => withMemo(stored, memo);
    const open = await this.open.change(tenantId, id, change);
    return (await this.closed.change(tenantId, id, change)) !== undefined || open !== undefined;
  }

  /** Returns the log of an alert, newest first. */
  async logsOf(
    tenantId: Id,
    id: string,
    { after, limit }: { readonly after?: string; readonly limit: number },
  ): Promise<Page<AlertLog>> {
    const found = await firstOf(
      this.logs.list(tenantId, {
        prefix: logPrefix(id),
        isDescending: true,
        page: limit + 1,
        ...(after !== undefined && { after }),
      }),
      limit + 1,
    );
    return pageOf(
      found.map(({ value }) => value),
      limit,
    );
  }
}

function withMemo(stored: StoredAlert, memo: string): StoredAlert {
  return { ...stored, alert: { ...stored.alert, memo } };
}

async function firstOf<T>(items: AsyncIterable<T>, most: number): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) {
    found.push(item);
    if (found.length === most) break;
  }
  return found;
}

function pageOf<T extends { readonly id: string }>(found: readonly T[], limit: number): Page<T> {
  const items = found.slice(0, limit);
  return { items, nextId: found.length > limit ? items.at(-1)!.id : undefined };
}

function recordOf(event: AlertEvent): AlertRecord {
  const { alert, status, value, message, reason, subject, atMs, kind } = event;
  const { monitorId, type, hostId, series } = subject;
  return {
    id: alert.id,
    status,
    monitorId,
    type,
    ...(hostId !== undefined && { hostId }),
    ...(series !== undefined && { series }),
    ...(value !== undefined && Number.isFinite(value) && { value }),
    ...(message !== undefined && { message }),
    ...(reason !== undefined && { reason }),
    openedAt: seconds(alert.openedAtMs),
    ...(kind === 'closed' && { closedAt: seconds(atMs) }),
  };
}

function logPrefix(alertId: string): string {
  return `${alertId}x`;
}

/** Returns whether an id belongs to an entry in an alert's log. */
export function isLogOf(id: string, alertId: string): boolean {
  return id.startsWith(logPrefix(alertId));
}

/** Returns the log entry of an event. Entries of an alert sort by time, because their ids contain it. */
function logOf({ alert, atMs, status, trigger, value, message, subject }: AlertEvent): AlertLog {
  const { monitorId, type, memo } = subject;
  return {
    id: `${logPrefix(alert.id)}${String(atMs).padStart(15, '0')}`,
    createdAt: seconds(atMs),
    status,
    trigger,
    monitorId,
    targetValue: value !== undefined && Number.isFinite(value) ? value : null,
    statusDetail: type === 'check' ? { type, detail: { message: message ?? '', memo } } : null,
  };
}
