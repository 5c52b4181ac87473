import type { EvaluatorStore } from '../alerting/tasks/evaluator-store';
import { encodeJson } from '../alerting/tasks/task-states';
import { idOf } from '../model/id';
import { mapLimited } from '../platform/concurrency';
import type { Table } from '../platform/table';
import { Documents } from '../registry/documents';
import type { RegisteredHost } from '../registry/host-labels';
import type { Tenant } from '../tenancy/tenants';
import { type AlertBatch, type AlertEvent, eventOf } from './alert-event';
import type { AlertSubject } from './alert-subject';
import {
  type AdvancedCheck,
  advanceCheck,
  type CheckReport,
  type CheckState,
  checkIdOf,
  newCheck,
  type ReportContext,
} from './check-report';
import { hostPart } from './subject';
import { closedByHand, closing } from './tracks';

type Owner = Pick<Tenant, 'id' | 'name'>;

/** Number of a host's checks that are changed in parallel. */
const PARALLEL = 8;

/**
 * Stores the checks that agents report, by check id. Events of their alerts are put into the outbox in the
 * same transaction as the check.
 */
export class CheckStore {
  private readonly checks: Documents<CheckState>;

  constructor(
    table: Table,
    private readonly store: Pick<EvaluatorStore, 'outboxPut'>,
    private readonly now: () => number = Date.now,
  ) {
    this.checks = new Documents(table, 'checks');
  }

  get({ id }: Owner, checkId: string): Promise<CheckState | undefined> {
    return this.checks.get(id, checkId);
  }

  /**
   * Yields the checks of a tenant or a host, sorted by id.
   *
   * @param after yields only checks whose ids follow this one
   */
  list({ id }: Owner, options: { readonly prefix?: string; readonly after?: string } = {}) {
    return this.checks.list(id, options);
  }

  /**
   * Applies a report to its check.
   *
   * @returns the alert event that the report causes; undefined if it causes none
   */
  report(
    tenant: Owner,
    report: CheckReport,
    host: RegisteredHost,
    context: Pick<ReportContext, 'isWatched' | 'isDown'>,
  ): Promise<AlertEvent | undefined> {
    const { hostId } = report.source;
    return this.advance(tenant, checkIdOf(hostId, report.name), host, (stored, nowMs) =>
      advanceCheck(stored ?? newCheck(hostId, report.name), report, {
        ...context,
        tenantId: tenant.id,
        nowMs,
      }),
    );
  }

  /**
   * Closes the alert of a check.
   *
   * @returns undefined when the alert is no longer open
   */
  close(
    tenant: Owner,
    checkId: string,
    alertId: string,
    reason: string,
    host: RegisteredHost | undefined,
  ): Promise<AlertEvent | undefined> {
    return this.advance(tenant, checkId, host, (stored) => {
      if (stored?.track?.alert?.id !== alertId) return undefined;
      const { track, transition } = closedByHand(stored.track, reason);
      return { check: { ...stored, ...(track && { track }) }, ...(transition && { transition }) };
    });
  }

  /** Removes the checks of a retired host and closes their alerts. */
  async retireHost(tenant: Owner, hostId: string): Promise<AlertEvent[]> {
    const all = await this.checks.all(tenant.id, hostId);
    const events = await mapLimited(all, PARALLEL, async ({ id }) => {
      const closed: AlertEvent[] = [];
      // A report that was received before the host was retired may open another alert during this loop.
      do {
        const event = await this.advance(tenant, id, undefined, (stored) => {
          const alert = stored?.track?.alert;
          if (alert === undefined) return undefined;
          const { track: _, ...check } = stored!;
          return { check, transition: closing(id, alert, 'hostRetire') };
        });
        if (event !== undefined) closed.push(event);
      } while (!(await this.checks.removeIf(tenant.id, id, hasNoAlert)));
      return closed;
    });
    return events.flat();
  }

  /**
   * Replaces the checks of a host with those that its agent lists. A check that is not listed is removed,
   * unless its alert is open.
   */
  async setListed(
    { id }: Owner,
    hostId: string,
    listed: readonly { readonly name: string; readonly memo?: string | null | undefined }[],
  ): Promise<void> {
    const byId = new Map(listed.map((each) => [checkIdOf(hostId, each.name), each]));
    const stale: string[] = [];
    for await (const { value } of this.checks.list(id, { prefix: hostId }))
      if (!byId.has(value.id) && hasNoAlert(value)) stale.push(value.id);
    await mapLimited(stale, PARALLEL, (checkId) => this.checks.removeIf(id, checkId, hasNoAlert));
    await mapLimited([...byId], PARALLEL, ([checkId, { name, memo }]) =>
      this.checks.createOrChange(id, checkId, (stored) => {
        const text = memo ?? '';
        if (stored === undefined) return newCheck(hostId, name, text);
        return stored.memo === text ? stored : { ...stored, memo: text };
      }),
    );
  }

  private async advance(
    tenant: Owner,
    checkId: string,
    host: RegisteredHost | undefined,
    decide: (stored: CheckState | undefined, nowMs: number) => AdvancedCheck | undefined,
  ): Promise<AlertEvent | undefined> {
    let event: AlertEvent | undefined;
    await this.checks.createOrChangeWith(tenant.id, checkId, (stored) => {
      event = undefined;
      // Clocks of instances differ by seconds. The log of an alert is sorted by time, so a change must be later than
      // the change before it.
      const nowMs = Math.max(this.now(), (stored?.track?.alert?.changedAtMs ?? 0) + 1);
      const next = decide(stored, nowMs);
      if (next === undefined) return undefined;
      const { check, transition } = next;
      if (transition === undefined) return { value: check, also: [] };
      event = eventOf(transition, nowMs, host?.status === 'working', subjectOf(check, host));
      return { value: check, also: [this.outboxPut(tenant, event)] };
    });
    return event;
  }

  private outboxPut(tenant: Owner, event: AlertEvent) {
    const { monitorId } = event.subject;
    const batch: AlertBatch = { tenant: tenant.name, tickMs: event.atMs, monitorId, events: [event] };
    return this.store.outboxPut(tenant.id, idOf('check', monitorId), event.atMs, encodeJson(batch));
  }
}

function hasNoAlert({ track }: CheckState): boolean {
  return track?.alert === undefined;
}

function subjectOf({ id, hostId, name, memo }: CheckState, host: RegisteredHost | undefined): AlertSubject {
  return { type: 'check', monitorId: id, monitorName: name, memo, ...hostPart(hostId, host) };
}
