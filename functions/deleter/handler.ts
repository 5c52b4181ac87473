import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from 'aws-lambda';
import { metricNames } from '../../shared/catalogue/source-series';
import { deleterDependencies } from '../../shared/compose/deleter';
import { selectorOf, selects } from '../../shared/model/deletion';
import { sourceOf } from '../../shared/model/labels';
import { sourceIdOf } from '../../shared/model/placement';
import { InvalidEventError, parseEvent } from '../../shared/platform/event';
import { deletionRecords, hasArrived } from '../../shared/stream/deletion-records';
import { putRecords } from '../../shared/stream/put';
import { deletionEvent } from './deletion-event';

const { tenants, catalogue, kinesis, stream } = deleterDependencies();

/** Maximum number of distinct deletions that a source may have, since every read of the source applies all of them. */
const MAX_DELETIONS = 1_000;
/** Maximum number of names in a result. */
const MAX_NAMES = 1_000;
/** Interval at which the deleter checks whether the deletion is in the catalogue, in ms. */
const POLL_MS = 100;
/** Maximum time to wait for the ingester to put the deletion into the catalogue, in ms. */
const MAX_WAIT_MS = 60_000;
/** Time reserved at the end of an invocation for returning the result, in ms. */
const MARGIN_MS = 5_000;

export interface DeletionResult {
  /** Number of series in the catalogue that the name or prefix selects. */
  readonly series: number;
  /** The names of the first thousand of these series. */
  readonly names: readonly string[];
  /** Whether the series' samples were deleted; false if there are more series than `mostSeries`. */
  readonly isDeleted: boolean;
  /** Whether reads already apply the deletion; false while the deletion waits in the stream for the ingester. */
  readonly isVisible: boolean;
}

/** Puts a deletion into the stream, and waits until reads apply it. `ops delete` invokes it. */
export async function handler(event: unknown, context: Context): Promise<DeletionResult> {
  const { tenant: tenantName, host, service, name, from, to, mostSeries } = parseEvent(deletionEvent, event);
  const tenant = await tenants.read(tenantName);
  if (tenant === undefined) throw new InvalidEventError(`there is no tenant ${tenantName}`);
  const selector = selectorOf(name);
  if (selector === undefined)
    throw new InvalidEventError(`name: * is allowed only at the end, not in ${JSON.stringify(name)}`);
  if (from >= to) throw new InvalidEventError(`from: ${from} is not before to, ${to}`);
  const source = host !== undefined ? sourceOf.host(host) : sourceOf.service(service!);
  const sourceId = sourceIdOf(tenant.id, source);
  const posted = await catalogue.source(tenant.id, sourceId);
  const names = metricNames(posted).filter((metric) => selects(selector, metric));
  const result = { series: names.length, names: names.slice(0, MAX_NAMES) };
  if (names.length === 0)
    throw new InvalidEventError(
      `${host === undefined ? `service ${service}` : `host ${host}`} has no metric ${name}`,
    );
  if (names.length > mostSeries) return { ...result, isDeleted: false, isVisible: false };
  if (posted.deletions.length >= MAX_DELETIONS)
    throw new InvalidEventError(
      `the source has ${posted.deletions.length} deletions, at most ${MAX_DELETIONS} are allowed; delete a longer range instead`,
    );

  const deletion = { selector, fromMs: from, toMs: to };
  await putRecords(kinesis, stream, deletionRecords(tenant, source, deletion));
  const deadlineMs = Math.min(MAX_WAIT_MS, context.getRemainingTimeInMillis() - MARGIN_MS) + Date.now();
  for (;;) {
    const found = await catalogue.deletions.of(tenant.id, sourceId);
    const isVisible = hasArrived(tenant, source, deletion, posted.deletions, found);
    if (isVisible || Date.now() > deadlineMs) return { ...result, isDeleted: true, isVisible };
    await sleep(POLL_MS);
  }
}
