import { labelValue, METRIC_NAME } from '../model/labels';
import { equals, isIn, type Matcher } from '../model/matcher';
import type { SampleColumns } from '../model/sample-columns';
import { slicesOf } from '../model/slices';
import { quotedNames } from '../promql/dotted-names';
import type { QueryOptions } from '../promql/query';
import type { SampleStore } from '../promql/store';
import { HOST_LABELS, type RegisteredHost } from '../registry/host-labels';
import type { InstantSample } from '../rules/evaluate-rule';
import { instantVector, wholeOf } from '../rules/instant-vector';
import { parseExpression } from './expression';
import { promqlOf } from './expression-promql';
import {
  AVERAGE_RANGE_MS,
  GONE_MS,
  type Judgement,
  judgeLines,
  judgeMissing,
  judgeSamples,
  latestAverage,
  MAX_SAMPLE_AGE_MS,
  samplesWithin,
  statusOf,
  worstOf,
} from './judge';
import { DEFAULTS, type Monitor, type MonitorOf } from './monitor';
import { type JudgedSamples, percentMetricOf } from './percent-metrics';
import { isInScope, isWatchedStatus, watches } from './scope';
import type { Track } from './tracks';

/** Data that the evaluation of a monitor reads. */
export interface MonitorInputs {
  readonly store: SampleStore;
  /** The tenant's hosts that are not retired. */
  readonly hosts: readonly RegisteredHost[];
  /** Returns whether a host has ever posted a metric. */
  readonly hasPosted: (hostId: string) => Promise<boolean>;
  readonly query: QueryOptions;
  /** Time of the evaluation, as Unix time in ms. */
  readonly nowMs: number;
}

/** State that a monitor keeps besides its alerts. */
export interface MonitorMemory {
  /**
   * More metrics that show a connectivity monitor which hosts are alive, for hosts that post no {@link USUAL_METRICS}.
   */
  readonly witnesses?: readonly string[];
  /** Unix time of the newest sample of a service's metric, in ms. */
  readonly newestMs?: number;
  /** The last response times of an external URL, in ms, oldest first. */
  readonly responseMs?: readonly number[];
}

export interface JudgedMonitor {
  /** Judgements by track key. Subjects that cannot be judged now are absent. */
  readonly judgements: ReadonlyMap<string, Judgement>;
  readonly memory: MonitorMemory;
}

/** The monitor cannot be judged as it is currently defined. */
export class MonitorError extends Error {
  override readonly name = 'MonitorError';
}

/** The part of a track that is needed to judge its subject. */
export type JudgedTrack = Pick<Track, 'key' | 'alert'>;

/**
 * Judges everything that a monitor watches.
 *
 * @param tracks tracks of the subjects that were found abnormal
 * @throws {MonitorError | RuleError | IncompleteError} when the monitor cannot be judged; other errors come from the
 *   store
 */
export async function judgeMonitor(
  monitor: Monitor,
  memory: MonitorMemory,
  tracks: readonly JudgedTrack[],
  inputs: MonitorInputs,
): Promise<JudgedMonitor> {
  switch (monitor.type) {
    case 'connectivity':
      return judgeConnectivity(monitor, memory, tracks, inputs);
    case 'host':
      return { judgements: await judgeHosts(monitor, inputs), memory };
    case 'service':
      return judgeService(monitor, memory, inputs);
    case 'expression':
      return { judgements: new Map([['', await judgeExpression(monitor, inputs)]]), memory };
    case 'query':
      return { judgements: await judgeQuery(monitor, tracks, inputs), memory };
    // Never reached. The evaluator skips `anomalyDetection`, which has no interval, and judges `external` itself
    // (judge-probe.ts).
    case 'anomalyDetection':
    case 'external':
      throw new MonitorError(`monitors of type ${monitor.type} are not evaluated`);
  }
}

/**
 * Returns the hosts to judge: those in the monitor's scopes whose status is watched. Alerts of all other
 * hosts stay as they are.
 */
function watchedHosts(
  monitor: MonitorOf<'host' | 'connectivity'>,
  hosts: readonly RegisteredHost[],
): RegisteredHost[] {
  return hosts.filter(({ status, roles }) => isWatchedStatus(status) && watches(monitor, roles));
}

/** Reads metrics of hosts: series whose only labels are the name, the host and the labels that the registry adds. */
async function readHosts(
  { store, nowMs }: MonitorInputs,
  name: Matcher,
  host: Matcher,
  rangeMs: number,
): Promise<Map<string, Map<string, JudgedSamples>>> {
  const series = await selectWhole(store, [name, host], nowMs - rangeMs, nowMs);
  const byHost = new Map<string, Map<string, JudgedSamples>>();
  for (const { labels, ...columns } of series) {
    if (labels.some(([label]) => !HOST_SERIES.has(label))) continue;
    const [hostId, metric] = [labelValue(labels, 'host')!, labelValue(labels, METRIC_NAME)!];
    const metrics = byHost.get(hostId) ?? new Map<string, JudgedSamples>();
    byHost.set(hostId, metrics.set(metric, columns));
  }
  return byHost;
}

const HOST_SERIES: ReadonlySet<string> = new Set([METRIC_NAME, 'host', ...HOST_LABELS]);

/** @throws {IncompleteError} when samples are known to be missing */
async function selectWhole(
  store: SampleStore,
  matchers: readonly Matcher[],
  afterMs: number,
  untilMs: number,
): Promise<readonly SampleColumns[]> {
  // The store includes `fromMs` and excludes `toMs`. Here, `afterMs` is excluded and `untilMs` included.
  const { series } = await wholeOf(store).select(matchers, { fromMs: afterMs + 1, toMs: untilMs + 1 });
  return series;
}

/**
 * Maximum number of hosts selected by id. If there are more, the series of all hosts are read; several monitors share
 * this read.
 */
const MAX_NAMED_HOSTS = 50;
const EVERY_HOST: Matcher = { label: 'host', op: '!=', value: '' };

async function judgeHosts(
  monitor: MonitorOf<'host'>,
  inputs: MonitorInputs,
): Promise<Map<string, Judgement>> {
  const { nowMs } = inputs;
  const percent = percentMetricOf(monitor.metric);
  const name: Matcher =
    percent === undefined
      ? equals(METRIC_NAME, monitor.metric)
      : { label: METRIC_NAME, op: '=~', value: percent.names };
  const seriesOf = (metrics: ReadonlyMap<string, JudgedSamples>): JudgedSamples[] =>
    percent === undefined ? [...metrics.values()] : percent.compute(metrics);
  const hosts = watchedHosts(monitor, inputs.hosts);
  if (hosts.length === 0) return new Map();
  const isFew = hosts.length <= MAX_NAMED_HOSTS;
  const named = isFew
    ? isIn(
        'host',
        hosts.map(({ id }) => id),
      )
    : EVERY_HOST;
  const recent = await readHosts(inputs, name, named, MAX_SAMPLE_AGE_MS);
  const watched = new Set(hosts.map(({ id }) => id));
  const judgements = new Map<string, Judgement>();
  const sparse: string[] = [];
  for (const [hostId, metrics] of recent) {
    if (!watched.has(hostId)) continue;
    const series = seriesOf(metrics);
    if (series.some((samples) => isSparse(samples, monitor.duration, nowMs))) sparse.push(hostId);
    else judge(judgements, hostId, series, monitor, nowMs);
  }
  for (const part of slicesOf(sparse, MAX_NAMED_HOSTS))
    for (const [hostId, metrics] of await readHosts(inputs, name, isIn('host', part), AVERAGE_RANGE_MS))
      judge(judgements, hostId, seriesOf(metrics), monitor, nowMs);
  return judgements;
}

function judge(
  judgements: Map<string, Judgement>,
  hostId: string,
  series: readonly JudgedSamples[],
  monitor: MonitorOf<'host'>,
  nowMs: number,
): void {
  const found = worstOf(series.flatMap((samples) => judgeSamples(samples, monitor, nowMs) ?? []));
  if (found !== undefined) judgements.set(hostId, found);
}

/** Whether a series has recent samples, but too few for its average. */
function isSparse(samples: JudgedSamples, duration: number, nowMs: number): boolean {
  return (
    duration > 1 &&
    latestAverage(samples, 1, nowMs) !== undefined &&
    latestAverage(samples, duration, nowMs) === undefined
  );
}

async function judgeService(
  monitor: MonitorOf<'service'>,
  memory: MonitorMemory,
  { store, nowMs }: MonitorInputs,
): Promise<JudgedMonitor> {
  const { service, metric, duration } = monitor;
  // The registry adds the label `service` to hosts' series, so exclude these series.
  const matchers = [equals(METRIC_NAME, metric), equals('service', service), equals('host', '')];
  const read = async (rangeMs: number): Promise<JudgedSamples> => {
    const series = await selectWhole(store, matchers, nowMs - rangeMs, nowMs);
    const own = series.find(({ labels }) => labels.length === 2);
    return own === undefined ? NO_SAMPLES : samplesWithin(own, nowMs - rangeMs, nowMs);
  };
  let samples = await read(MAX_SAMPLE_AGE_MS);
  if (duration != null && isSparse(samples, duration, nowMs)) samples = await read(AVERAGE_RANGE_MS);
  const missing = longestMissingMs(monitor);
  if (samples.values.length === 0 && memory.newestMs === undefined && missing > 0)
    samples = await read(missing + 60_000);
  // An evaluator whose clock was wrong may have remembered a time in the future.
  const rememberedMs = memory.newestMs && Math.min(memory.newestMs, nowMs);
  const newestMs = samples.timestamps.at(-1) ?? rememberedMs;
  const judgements = new Map<string, Judgement>();
  const found =
    (newestMs === undefined ? undefined : judgeMissing(newestMs, monitor, nowMs)) ??
    (duration == null ? presence(samples, nowMs) : judgeSamples(samples, { ...monitor, duration }, nowMs));
  if (found !== undefined) judgements.set('', found);
  return { judgements, memory: newestMs === undefined ? memory : { ...memory, newestMs } };
}

const NO_SAMPLES: JudgedSamples = { timestamps: new Float64Array(), values: new Float64Array() };

function longestMissingMs({ missingDurationWarning, missingDurationCritical }: MonitorOf<'service'>): number {
  return Math.max(missingDurationWarning ?? 0, missingDurationCritical ?? 0) * 60_000;
}

/** Judges a metric without thresholds: any recent sample closes the alert. */
function presence(samples: JudgedSamples, nowMs: number): Judgement | undefined {
  const latest = latestAverage(samples, 1, nowMs);
  return latest && { status: 'OK', ...latest };
}

/** Evaluates a query as of `minutes` ago. */
function resultOf(
  text: string,
  minutes: number,
  { store, query, nowMs }: MonitorInputs,
): Promise<readonly InstantSample[]> {
  return instantVector(wholeOf(store), text, nowMs - minutes * 60_000, query);
}

async function judgeExpression(monitor: MonitorOf<'expression'>, inputs: MonitorInputs): Promise<Judgement> {
  const hostsOf = (role: string) =>
    inputs.hosts.filter(({ roles }) => isInScope(roles, [role])).map(({ id }) => id);
  const text = promqlOf(parseExpression(monitor.expression), hostsOf);
  const minutes = monitor.evaluateBackwardMinutes ?? DEFAULTS.expressionBackwardMinutes;
  const found = await resultOf(text, minutes, inputs);
  return judgeLines(
    found.map(({ value }) => value),
    monitor,
  );
}

async function judgeQuery(
  monitor: MonitorOf<'query'>,
  tracks: readonly JudgedTrack[],
  inputs: MonitorInputs,
): Promise<Map<string, Judgement>> {
  const minutes = monitor.evaluateBackwardMinutes ?? DEFAULTS.queryBackwardMinutes;
  const found = await resultOf(quotedNames(monitor.query), minutes, inputs);
  // The empty key stands for a query that returns nothing.
  if (found.length === 0) return new Map([['', NO_VALUE]]);
  // If a series is no longer in the result, its alert stays open. If it has no open alert, for example
  // because a user closed the alert, the monitor forgets the series.
  const judgements = new Map<string, Judgement>(
    tracks.map(({ key, alert }) => [key, alert === undefined ? { status: 'OK' } : NO_VALUE]),
  );
  for (const { labels, value } of found)
    judgements.set(
      JSON.stringify(labels),
      Number.isNaN(value) ? NO_VALUE : { status: statusOf(value, monitor), value },
    );
  return judgements.set('', { status: 'OK' });
}

const NO_VALUE: Judgement = { status: 'UNKNOWN', message: 'the query yields no value' };

/** Nearly every agent posts at least one of these metrics. */
const USUAL_METRICS = ['loadavg5', 'processor_queue_length'];
const MAX_WITNESSES = 20;

/** Finds hosts that have posted nothing for {@link GONE_MS}. Hosts that never posted are not judged. */
async function judgeConnectivity(
  monitor: MonitorOf<'connectivity'>,
  memory: MonitorMemory,
  tracks: readonly JudgedTrack[],
  inputs: MonitorInputs,
): Promise<JudgedMonitor> {
  const { nowMs, hasPosted } = inputs;
  const witnesses = new Set(memory.witnesses);
  const hosts = watchedHosts(monitor, inputs.hosts);
  const names = isIn(METRIC_NAME, [...USUAL_METRICS, ...witnesses]);
  const seen = new Set(
    hosts.length === 0 ? [] : (await readHosts(inputs, names, EVERY_HOST, GONE_MS)).keys(),
  );
  const missing = hosts.filter(({ id, createdAt }) => !seen.has(id) && nowMs - createdAt * 1000 >= GONE_MS);
  // A host that posts none of these metrics may still post others, so read all metrics of the missing hosts.
  const anyMetric: Matcher = { label: METRIC_NAME, op: '!=', value: '' };
  const missingIds = missing.map(({ id }) => id);
  for (const part of slicesOf(missingIds, MAX_NAMED_HOSTS))
    for (const [id, metrics] of await readHosts(inputs, anyMetric, isIn('host', part), GONE_MS)) {
      seen.add(id);
      const [witness] = metrics.keys();
      if (witnesses.size < MAX_WITNESSES) witnesses.add(witness!);
    }
  const judgements = new Map<string, Judgement>();
  const open = new Set(tracks.map(({ key }) => key));
  for (const { id } of hosts) if (seen.has(id)) judgements.set(id, { status: 'OK' });
  const status = monitor.alertStatusOnGone ?? DEFAULTS.alertStatusOnGone;
  for (const { id } of missing)
    if (!seen.has(id) && (open.has(id) || (await hasPosted(id)))) judgements.set(id, { status });
  return { judgements, memory: { ...memory, ...(witnesses.size > 0 && { witnesses: [...witnesses] }) } };
}
