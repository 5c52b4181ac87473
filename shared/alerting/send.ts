import { mapLimited } from '../platform/concurrency';
import { log } from '../platform/log';
import type { Tenant } from '../tenancy/tenants';
import { DeliveryError, type OutsideRequest } from './post-outside';
import { alertmanagerBodies, webhookBody } from './receiver-bodies';
import type { ReceiverStore, Receivers } from './receivers';
import type { OutboxItem, RuleStates } from './rule-states';

export interface SendDependencies {
  readonly receivers: Pick<ReceiverStore, 'get'>;
  readonly states: Pick<RuleStates, 'list' | 'outbox' | 'sent' | 'putOff'>;
  readonly post: (request: OutsideRequest) => Promise<void>;
  /** The address of this service, without a slash at its end. */
  readonly externalUrl: string;
  readonly now: () => number;
}

export interface SendReport {
  readonly sent: number;
  readonly failed: number;
}

/** Tenants that are served at a time: one whose receivers hang holds up no other. */
const PARALLEL = 32;
/** Attempts at a batch; then it stays in the outbox as a dead letter until it expires. */
export const MAX_ATTEMPTS = 12;
const FIRST_WAIT_MS = 30_000;
const LONGEST_WAIT_MS = 3_600_000;

/** How long a batch waits after a failed attempt, ms. @param attempts failed attempts so far */
export function waitMs(attempts: number): number {
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempts - 1));
}

/**
 * Sends alerts to the receivers of the given tenants, and of tenants whose batches wait in the outbox. Alertmanagers get all firing
 * alerts in each run, which is also the retry. Webhooks get the changes from the outbox, at least once and in order for each group.
 */
export async function sendAll(
  dependencies: SendDependencies,
  tenants: readonly Pick<Tenant, 'id' | 'name'>[],
  hasTime: () => boolean,
): Promise<SendReport> {
  const outbox = await dependencies.states.outbox();
  // A tenant may have removed its rules since.
  const all = new Map(tenants.map(({ id, name }) => [id, { id, name }]));
  for (const { tenantId: id, batch } of outbox) all.set(id, { id, name: batch.tenant });
  const reports = await mapLimited([...all.values()], PARALLEL, async (tenant) => {
    const report = { sent: 0, failed: 0 };
    if (!hasTime()) return report;
    try {
      const receivers = await dependencies.receivers.get(tenant.id);
      await tellAlertmanagers(dependencies, tenant, receivers, report);
      const items = outbox.filter(({ tenantId }) => tenantId === tenant.id);
      await empty(dependencies, receivers, items, report, hasTime);
    } catch (error) {
      report.failed++;
      log.error('notifications were not sent', { tenant: tenant.name, error: error as Error });
    }
    return report;
  });
  const sum = (of: (report: SendReport) => number) => reports.reduce((all, each) => all + of(each), 0);
  return { sent: sum(({ sent }) => sent), failed: sum(({ failed }) => failed) };
}

type Report = { sent: number; failed: number };

async function tellAlertmanagers(
  { states, post, externalUrl, now }: SendDependencies,
  tenant: Pick<Tenant, 'id' | 'name'>,
  { alertmanagers }: Receivers,
  report: Report,
): Promise<void> {
  if (alertmanagers.length === 0) return;
  const found = await states.list(tenant.id);
  for (const json of alertmanagerBodies(found.values(), now(), externalUrl))
    await Promise.all(
      alertmanagers.map(async ({ url, authorization }) => {
        const request = { url: `${url.replace(/\/$/, '')}/api/v2/alerts`, json };
        await post({ ...request, ...(authorization !== undefined && { authorization }) })
          .then(() => report.sent++)
          .catch((error: unknown) => note(tenant.name, error, report));
      }),
    );
}

function note(tenant: string, error: unknown, report: Report): DeliveryError {
  if (!(error instanceof DeliveryError)) throw error;
  report.failed++;
  log.warn('a receiver did not take notifications', { tenant, reason: error.message });
  return error;
}

async function empty(
  dependencies: SendDependencies,
  { webhooks }: Receivers,
  items: readonly OutboxItem[],
  report: Report,
  hasTime: () => boolean,
): Promise<void> {
  const { states, now } = dependencies;
  const waiting = new Set<string>();
  for (const item of items) {
    const group = JSON.stringify([item.batch.namespace, item.batch.group]);
    if (item.attempts >= MAX_ATTEMPTS) continue;
    // A receiver hears of an alert's end after its beginning.
    if (waiting.has(group) || item.dueMs > now() || !hasTime()) {
      waiting.add(group);
      continue;
    }
    const taken = new Set(item.taken);
    for (const webhook of webhooks)
      if (!taken.has(webhook.url) && (await deliver(dependencies, webhook, item, report)))
        taken.add(webhook.url);
    if (webhooks.every(({ url }) => taken.has(url))) await states.sent(item.key);
    else {
      waiting.add(group);
      const attempts = item.attempts + 1;
      if (attempts === MAX_ATTEMPTS)
        log.error('a batch of notifications was given up', { tenant: item.batch.tenant, key: item.key });
      await states.putOff({ ...item, attempts, taken: [...taken], dueMs: now() + waitMs(attempts) });
    }
  }
}

/** @returns whether the batch is done with for this webhook, taken or refused for good */
async function deliver(
  { post, externalUrl }: SendDependencies,
  { url, authorization }: Receivers['webhooks'][number],
  { batch }: OutboxItem,
  report: Report,
): Promise<boolean> {
  try {
    const json = webhookBody(batch, externalUrl);
    await post({ url, json, ...(authorization !== undefined && { authorization }) });
    report.sent++;
    return true;
  } catch (error) {
    return note(batch.tenant, error, report).isFinal;
  }
}
