import { setTimeout as sleep } from 'node:timers/promises';
import { DAY_MS } from '../../shared/model/duration';
import { metricOf, sourceOf } from '../../shared/model/labels';
import type { Probe } from '../../shared/monitors/probe';
import type { StageDescription } from '../../shared/operations/stage-command';
import { METRIC_NAMESPACE, METRIC_SERVICE } from '../../shared/platform/names';
import { encodeWriteRequest } from '../../shared/protocol/prometheus/write-request';
import type { TierPlaces } from '../../shared/query/where';
import type { RecoveryStatus } from '../../shared/recovery/replay';
import { archive } from './archive';
import { verifyArchive } from './archive-verify';
import type { CloudWatch, WatchedMetric } from './cloudwatch';
import { deleteSamples } from './delete';
import { drain } from './drain';
import type { StageCache } from './elasticache';
import { sendImport } from './import';
import { type Functions, OperatorError } from './invoke';
import { replay } from './replay';
import { SMOKE_METRIC, SMOKE_TENANT, type SmokeSample, untilAnswered, untilRead } from './smoke-sample';
import type { TenantApi } from './tenant-api';

/** The steps of a deep smoke test, in their order. */
export const DEEP_STEPS = [
  'functions',
  'archive',
  'replay',
  'failover',
  'restore',
  'removal',
  'alarms',
] as const;
export type DeepStepName = (typeof DEEP_STEPS)[number];

export interface DeepStep {
  readonly name: DeepStepName;
  readonly state: 'passed' | 'failed' | 'skipped';
  readonly ms: number;
  /** The step's result, the reason for skipping it, or its error. */
  readonly saw: string;
}

/** A reason why a step does not apply to a stack. */
export class Skip {
  constructor(readonly reason: string) {}
}

/** The parts of an AWS account that only a deployed stack uses. */
export interface DeepAccount {
  readonly stack: string;
  readonly cache: Pick<StageCache, 'replicas' | 'failOver'>;
  readonly cloudWatch: Pick<CloudWatch, 'alarms' | 'withoutValues'>;
  readonly restore: (source: string, target: string) => Promise<number | undefined>;
}

export interface DeepOptions {
  readonly skips: readonly DeepStepName[];
  /** Undefined for a local stack. */
  readonly account: DeepAccount | undefined;
  /** A sample that was posted and read, at a time after `startedMs`. */
  readonly sample: SmokeSample;
  readonly startedMs: number;
  /** Maximum time until posted data can be read, in ms. */
  readonly patience: number;
}

const ARCHIVED_METRIC = `${SMOKE_METRIC}.archived`;
/** Tolerance for arrival times, which the stream gives only approximately, in ms. */
const ARRIVAL_SLACK_MS = 60_000;
const LOOK_MS = 5_000;
/** Maximum time from a failover until the loss that it causes is repaired, in ms. */
const FAILOVER_MS = 20 * 60_000;
/** Maximum time until a value is in CloudWatch, in ms. */
const METRICS_MS = 10 * 60_000;
/**
 * A metric counts as having values if it had one within this time before the test, in ms. Some functions run only once
 * an hour.
 */
const RECENT_MS = 3 * 3_600_000;
const MAX_NAMED = 5;

/** Runs the steps one at a time. If a step fails, the others still run. */
export async function deepSteps(
  functions: Functions,
  api: TenantApi,
  options: DeepOptions,
  progress: (line: string) => void,
): Promise<DeepStep[]> {
  const { account, sample, startedMs, patience } = options;
  const { hostId } = sample;
  const works: Record<DeepStepName, () => Promise<string | Skip>> = {
    functions: () => callFunctions(functions, api),
    archive: () => archiveSample(functions, api, hostId, patience, progress),
    replay: async () => {
      const { shards } = await replay(
        functions,
        { from: startedMs - ARRIVAL_SLACK_MS, to: undefined },
        progress,
      );
      await untilRead(api, sample, Date.now() + patience);
      return `${shards.length} shards were read again, and the sample is unchanged`;
    },
    failover: async () => {
      if (account === undefined) return new Skip('the local stack has one memory server, without a replica');
      const repaired = await failOver(functions, account.cache, progress);
      if (!(repaired instanceof Skip)) await untilRead(api, sample, Date.now() + patience);
      return repaired;
    },
    restore: async () => {
      if (account === undefined) return new Skip('the local stack has no point-in-time recovery');
      const { metaTable } = await functions.invoke<StageDescription>('operator', { command: 'stage' });
      const target = `${account.stack}-smoke-restored`;
      const seconds = await account.restore(metaTable, target);
      if (seconds === undefined) return new Skip(`${metaTable} has no point-in-time recovery`);
      return `${metaTable} was restored in ${seconds} s as ${target}; the copy is being deleted`;
    },
    removal: () => removeSamples(functions, hostId, progress),
    alarms: async () => {
      if (account === undefined) return new Skip('the local stack has no CloudWatch');
      return compareAlarms(account, startedMs - RECENT_MS, { lookMs: LOOK_MS, mostMs: METRICS_MS }, progress);
    },
  };
  const steps: DeepStep[] = [];
  for (const name of DEEP_STEPS) {
    const began = Date.now();
    const done = (state: DeepStep['state'], saw: string) => {
      steps.push({ name, state, ms: Date.now() - began, saw });
      progress(`${name}: ${state}: ${saw}`);
    };
    if (options.skips.includes(name)) {
      done('skipped', `--skip ${name}`);
      continue;
    }
    try {
      const saw = await works[name]();
      if (saw instanceof Skip) done('skipped', saw.reason);
      else done('passed', saw);
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      done('failed', error.message);
    }
  }
  return steps;
}

/** Calls the functions that no other step calls. */
async function callFunctions(functions: Functions, api: TenantApi): Promise<string> {
  const text = await untilAnswered(() => api.text('GET', '/'));
  if (!/<html/i.test(text)) throw new OperatorError(`GET / did not return a page: ${text.slice(0, 300)}`);
  await untilAnswered(() => api.text('GET', '/api/v0/services'));
  await functions.invoke('evaluator', {});
  const url = new URL('/health', api.url).href;
  const [probe] = await functions.invoke<Probe[]>('prober', { requests: [{ url, method: 'GET' }] });
  if (probe === undefined) throw new OperatorError('the prober returned no result for its request');
  await functions.invoke('canary', {});
  await functions.invoke('recovery', { action: 'redrive', kind: 'onFailure' });
  return `page, registry, evaluator, canary and recovery answer; the prober's request to ${url}: ${probe.error ?? probe.status}`;
}

/** Imports a sample from yesterday, archives it, and looks for it in the bucket. */
async function archiveSample(
  functions: Functions,
  api: TenantApi,
  hostId: string,
  patience: number,
  progress: (line: string) => void,
): Promise<string> {
  const todayMs = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const timestamp = todayMs - DAY_MS / 2;
  const value = Math.round(Math.random() * 1e9) / 1e3;
  const imported = {
    labels: metricOf(sourceOf.host(hostId), ARCHIVED_METRIC),
    timestamps: Float64Array.of(timestamp),
    values: Float64Array.of(value),
  };
  const body = Buffer.from(encodeWriteRequest([imported])).toString('base64');
  const { samples } = await sendImport(functions, { tenant: SMOKE_TENANT, body });
  if (samples !== 1) throw new OperatorError('the importer did not accept a sample from yesterday');
  const sample = { hostId, name: ARCHIVED_METRIC, time: timestamp / 1000, value };
  await untilRead(api, sample, Date.now() + patience);
  await drain(functions, progress, { tenant: SMOKE_TENANT, id: hostId });
  const { archived } = await archive(functions, { before: todayMs, purge: false }, progress);
  const { cold } = await functions.invoke<{ cold: TierPlaces }>('operator', {
    command: 'where',
    tenant: SMOKE_TENANT,
    host: hostId,
    name: ARCHIVED_METRIC,
    from: timestamp,
    to: timestamp + 60_000,
  });
  if (cold.samples === 0)
    throw new OperatorError('no archive object in the bucket has a sample from yesterday');
  await untilRead(api, sample, Date.now() + patience);
  return `${archived} partition-days were archived, and ${cold.places[0]?.place} has yesterday's sample`;
}

/** Deletes the samples that the test posted and imported, from the archive too. */
async function removeSamples(
  functions: Functions,
  hostId: string,
  progress: (line: string) => void,
): Promise<string> {
  const deletion = { tenant: SMOKE_TENANT, host: hostId, name: `${SMOKE_METRIC}*`, yes: true };
  const deleted = await deleteSamples(functions, deletion, async () => {});
  if (!('isVisible' in deleted && deleted.isVisible))
    throw new OperatorError('the deletion is in the stream, but did not take effect within a minute');
  await archive(functions, { before: Math.floor(Date.now() / DAY_MS) * DAY_MS, purge: false }, progress);
  const scope = { tenant: SMOKE_TENANT, from: undefined, to: undefined };
  const { objects, differences } = await verifyArchive(functions, scope, progress);
  if (differences.length > 0)
    throw new OperatorError(`${differences[0]!.key} differs from the manifest: ${differences[0]!.problem}`);
  return `${deleted.series} metrics were deleted; ${objects} objects of the tenant match the manifest`;
}

/**
 * Lets a replica take over. Waits until recovery has noticed that the last moments of the old primary are lost, and has
 * repaired the loss.
 *
 * @throws {OperatorError} if that takes too long
 */
export async function failOver(
  functions: Pick<Functions, 'invoke'>,
  cache: DeepAccount['cache'],
  progress: (line: string) => void,
  { lookMs, mostMs } = { lookMs: LOOK_MS, mostMs: FAILOVER_MS },
  now: () => number = Date.now,
): Promise<string | Skip> {
  if ((await cache.replicas()) === 0) return new Skip('the cache has no replica (cacheReplicas)');
  const status = () => functions.invoke<RecoveryStatus>('recovery', { action: 'status' });
  const before = (await status()).loss;
  const beganMs = now();
  await cache.failOver();
  let line = '';
  for (;;) {
    const { loss } = await status();
    const isNew = loss !== undefined && (loss.id !== before?.id || loss.notices !== before.notices);
    const seconds = Math.round((now() - beganMs) / 1000);
    if (isNew && !loss.isOpen)
      return `the loss (${loss.reason}) was noticed, and repaired after ${seconds} s`;
    const saw = isNew ? `a loss is open: ${loss.reason}` : 'no loss was noticed yet';
    if (saw !== line) progress(saw);
    line = saw;
    if (now() - beganMs > mostMs) throw new OperatorError(`${seconds} s after the failover: ${saw}`);
    await sleep(lookMs);
  }
}

/**
 * Waits until the metrics that alarms watch have values: all metrics that HeteroTSDB itself publishes, and those
 * metrics of AWS services whose alarms fire if values are missing.
 *
 * @throws {OperatorError} if the stage has no alarms, or some metrics do not get values
 */
export async function compareAlarms(
  { stack, cloudWatch }: Pick<DeepAccount, 'stack' | 'cloudWatch'>,
  sinceMs: number,
  { lookMs, mostMs }: { readonly lookMs: number; readonly mostMs: number },
  progress: (line: string) => void,
  now: () => number = Date.now,
): Promise<string> {
  const alarms = await cloudWatch.alarms(`${stack}-`);
  if (alarms.length === 0)
    throw new OperatorError(`CloudWatch has no alarm whose name begins with ${stack}-`);
  const firing = alarms.filter(({ state }) => state === 'ALARM').map(({ name }) => name);
  const metrics = distinct(alarms.flatMap((alarm) => alarm.metrics));
  const silent = new Set(
    alarms.filter((alarm) => alarm.isSilenceAlarming).flatMap((alarm) => alarm.metrics.map(metricText)),
  );
  const mustHave = (metric: WatchedMetric) =>
    metric.Namespace === METRIC_NAMESPACE || silent.has(metricText(metric));
  const beganMs = now();
  for (let line = ''; ; await sleep(lookMs)) {
    const without = await cloudWatch.withoutValues(metrics, sinceMs);
    const missing = without.filter(mustHave);
    if (missing.length === 0)
      return [
        `${alarms.length} alarms watch ${metrics.length} metrics; all that must have values have them`,
        ...(without.length > 0
          ? [`${named(without.map(metricText))} have none, as before a first error`]
          : []),
        ...(firing.length > 0 ? [`in alarm: ${named(firing)}`] : []),
      ].join('; ');
    const saw = `${missing.length} of ${metrics.length} metrics have no value: ${named(missing.map(metricText))}`;
    if (now() - beganMs > mostMs) throw new OperatorError(saw);
    if (saw !== line) progress(saw);
    line = saw;
  }
}

function metricText({ Namespace, MetricName, Dimensions = [] }: WatchedMetric): string {
  const of = Dimensions.map(({ Value }) => Value).filter((value) => value !== METRIC_SERVICE);
  return `${Namespace} ${MetricName}${of.length > 0 ? ` of ${of.join(' ')}` : ''}`;
}

function distinct(metrics: readonly WatchedMetric[]): WatchedMetric[] {
  return [...new Map(metrics.map((metric) => [JSON.stringify(metric), metric])).values()];
}

function named(names: readonly string[]): string {
  const rest = names.length - MAX_NAMED;
  return `${names.slice(0, MAX_NAMED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
