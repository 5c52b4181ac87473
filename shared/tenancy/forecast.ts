import { DAY_MS } from '../model/duration';
import type { Unit } from '../platform/names';
import type { Settings } from '../platform/settings';
import { big, type CostLine, days, gb, gbSeconds, line, perSample } from './cost-line';
import type { MeasuredUnits, Units } from './measured-units';
import {
  CACHE_NODES,
  GB,
  HOURS_OF_MONTH,
  PRICE,
  SHARD_BYTES_PER_SECOND,
  SHARD_RECORDS_PER_SECOND,
} from './prices';
import {
  ACCESS_LINE_BYTES,
  capacity,
  METRICS_LINE_BYTES,
  nodeOf,
  type StageShape,
  UnknownCostError,
  upkeep,
} from './stage-cost';

/** A load: the samples posted, kept and read. */
export interface Load {
  readonly series: number;
  readonly intervalMs: number;
  readonly retentionMs: number;
  readonly samplesPerRequest: number;
  /** Graphs a month, each of one day of one series. */
  readonly reads: number;
}

const SECONDS_OF_MONTH = HOURS_OF_MONTH * 3600;
const MINUTES_OF_MONTH = HOURS_OF_MONTH * 60;
/** Share of a node's memory. ElastiCache reserves a quarter; half of the rest is kept free for times when no flush succeeds. */
const USABLE_MEMORY = 0.75 * 0.5;
/** Share of a shard's capacity; the rest lets it catch up. */
const SHARD_FILL = 0.5;
/** The flusher runs once a minute. */
const FLUSH_TICK_MS = 60_000;
/** An item's keys and attributes without its chunk, and the 100 bytes that DynamoDB adds. */
const ITEM_OVERHEAD_BYTES = 330;
/** DynamoDB deletes expired items within two days; one day on average. */
const EXPIRY_DELAY_MS = DAY_MS;
/** Bytes that a request adds to post's metrics line, which a hundred requests share. */
const METRICS_PER_POST_BYTES = 25;
/** Headers and body of the answer to a post, and of the samples of a graph. */
const POST_ANSWER_BYTES = 300;
const READ_ANSWER_BYTES = 40_000;

/**
 * Forecasts what a load costs in a month once the archive is full, with as many cache and stream shards as it needs.
 *
 * @throws {UnknownCostError}
 */
export function forecast(measured: MeasuredUnits, load: Load, shape: StageShape): CostLine[] {
  const { settings } = shape;
  const { windowText, tiers } = tiersOf(measured, settings.window);
  const samples = samplesOfMonth(load);
  const perSecond = samples / SECONDS_OF_MONTH;
  const requests = samples / load.samplesPerRequest;
  const post = (unit: Unit) =>
    requests * perRequest(measured, load.samplesPerRequest, ({ units }) => units[unit] ?? 0);
  const records = requests * perRequest(measured, load.samplesPerRequest, (run) => run.records);
  const streamBytes = requests * perRequest(measured, load.samplesPerRequest, (run) => run.streamBytes);
  const scaled = (units: Units, unit: Unit) => (samples * (units[unit] ?? 0)) / tiers.samples;
  const ingester = (unit: Unit) => scaled(tiers.ingester.units, unit);
  const flusher = (unit: Unit) => scaled(tiers.flusher.units, unit);
  const archiver = (unit: Unit) => scaled(tiers.archiver.units, unit);

  const streamShards = shardsFor(streamBytes / SECONDS_OF_MONTH, records / SECONDS_OF_MONTH);
  const { hotBytesPerSample, residencyMs, hotBytes, shards: cacheShards } = cacheOf(measured, load, settings);
  const batches = Math.max(
    (streamShards * SECONDS_OF_MONTH * 1000) / Math.max(settings.batchWindow, 100),
    records / settings.batchSize,
  );
  const windowsOfMonth = (samples * tiers.flusher.windows) / tiers.samples;
  const kept = (ms: number) => (samples / (HOURS_OF_MONTH * 3_600_000)) * ms;
  const warmMs = settings.warmTtl + EXPIRY_DELAY_MS;
  const warmBytes =
    (kept(warmMs) * (tiers.warmBytes + tiers.flusher.windows * ITEM_OVERHEAD_BYTES)) / tiers.samples;
  const coldBytes = (kept(load.retentionMs) * tiers.coldBytes) / tiers.samples;
  const objects = (MINUTES_OF_MONTH / 1440) * measured.load.partitions;
  const layouts = load.series / measured.load.metrics;
  // A sweep without layouts is among the scheduled invocations.
  const sweep = (unit: Unit) =>
    (HOURS_OF_MONTH *
      layouts *
      Math.max(0, (tiers.sweep.units[unit] ?? 0) - (measured.idle.operator.units[unit] ?? 0))) /
    tiers.sweep.layouts;
  const traces =
    (shape.isTraced('post') ? tracesOf(requests) : 0) + (shape.isTraced('ingester') ? tracesOf(batches) : 0);
  const logBytes =
    requests * (ACCESS_LINE_BYTES + METRICS_PER_POST_BYTES) +
    batches * METRICS_LINE_BYTES +
    (SECONDS_OF_MONTH / 10) * METRICS_LINE_BYTES;
  const writes = {
    post: post('WriteUnits'),
    ingester: ingester('WriteUnits'),
    flusher: flusher('WriteUnits'),
  };
  const writeUnits = writes.post + writes.ingester + writes.flusher + archiver('WriteUnits');
  const readUnits = post('ReadUnits') + ingester('ReadUnits') + flusher('ReadUnits') + archiver('ReadUnits');
  const betweenZones = 2 * samples * hotBytesPerSample * ((settings.zones - 1) / settings.zones);
  const functionTime = (what: string, invocations: number, mbMs: number): CostLine =>
    line(
      what,
      `${invocations === 0 ? '' : `${big(invocations)} invocations at $0.20 a million, `}${big(gbSeconds(mbMs))} GB-s at $0.0000133334 (${perSample(mbMs / samples)} MB-ms a sample)`,
      invocations * PRICE.invocation + gbSeconds(mbMs) * PRICE.functionGbSecond,
    );
  return [
    line(
      'API requests',
      `${big(samples)} samples, ${load.samplesPerRequest} a request, at $1.00 a million`,
      requests * PRICE.httpRequest,
    ),
    functionTime('post', requests, post('FunctionMbMs')),
    line(
      'stream puts',
      `${big(post('PutUnits'))} units of 25 KB (${(post('PutUnits') / requests).toFixed(1)} a request: a record a partition) at $0.014 a million`,
      post('PutUnits') * PRICE.streamUnit,
    ),
    functionTime('ingester', batches, ingester('FunctionMbMs')),
    functionTime('flusher', 0, flusher('FunctionMbMs')),
    functionTime('archiver', 0, archiver('FunctionMbMs')),
    line(
      'warm writes',
      `${big(writeUnits)} write units at $0.625 a million: ${big(windowsOfMonth)} group-windows of ${windowText}, ${Math.round(tiers.warmBytes / tiers.flusher.windows)} bytes each`,
      writeUnits * PRICE.warmWriteUnit,
    ),
    line(
      'warm reads',
      `${big(readUnits)} read units of flusher and archiver at $0.125 a million`,
      readUnits * PRICE.warmReadUnit,
    ),
    line(
      'warm storage',
      `${gb(warmBytes)} (${perSample(warmBytes / kept(warmMs))} bytes a sample for ${days(warmMs)}) at $0.25 a GB, and $0.20 for recovery to a point in time`,
      (warmBytes / GB) * (PRICE.warmGbMonth + PRICE.recoveryGbMonth),
    ),
    line(
      'archive storage',
      `${gb(coldBytes)} (${perSample(coldBytes / kept(load.retentionMs))} bytes a sample for ${days(load.retentionMs)}) at $0.023 a GB`,
      (coldBytes / GB) * PRICE.coldGbMonth,
    ),
    line(
      'archive requests',
      `${big(objects)} objects, one a partition and day: a PUT at $5 and two GETs at $0.40 a million`,
      objects * (PRICE.objectPut + 2 * PRICE.objectGet),
    ),
    line(
      'sweep',
      `${big(sweep('ReadUnits'))} read units to count the series of ${big(layouts)} layouts each hour, ${big(gbSeconds(sweep('FunctionMbMs')))} GB-s`,
      sweep('ReadUnits') * PRICE.warmReadUnit + gbSeconds(sweep('FunctionMbMs')) * PRICE.functionGbSecond,
    ),
    line(
      'logs',
      `${gb(logBytes)} at $0.50: ${ACCESS_LINE_BYTES} bytes a request of the access log, metrics`,
      (logBytes / GB) * PRICE.logGb,
    ),
    line(
      'traces',
      `${traces === 0 ? 'post and ingester leave none' : `${big(traces)} of post and ingester`}, at $5 a million`,
      traces * PRICE.trace,
    ),
    line(
      'transfer between zones',
      `${gb(betweenZones)}, half of what goes into memory and out of it, at $0.02 with ${settings.zones} zones`,
      (betweenZones / GB) * PRICE.transferZoneGb,
    ),
    line('transfer in', 'free', 0),
    line(
      'transfer out',
      `answers of ${POST_ANSWER_BYTES} bytes at $0.09 a GB`,
      ((requests * POST_ANSWER_BYTES) / GB) * PRICE.transferOutGb,
    ),
    readsLine(measured, load.reads),
    ...capacity(
      shape,
      cacheShards,
      streamShards,
      `${gb(hotBytes)} at most: ${perSample(hotBytesPerSample)} bytes a sample for ${Math.ceil(residencyMs / 60_000)} minutes`,
      `${big(streamBytes / SECONDS_OF_MONTH)} bytes and ${big(records / SECONDS_OF_MONTH)} records a second, planned half full (${perSample(streamBytes / samples)} bytes a sample, ${big(perSecond)} samples a second)`,
    ),
    ...upkeep(measured, shape),
  ];
}

/** The stage with the cache node type that holds a load in the fewest shards; among those, the cheapest. */
export function withBestNode(measured: MeasuredUnits, load: Load, shape: StageShape): StageShape {
  const choices = Object.entries(CACHE_NODES).map(([cacheNodeType, { hour }]) => {
    const settings = { ...shape.settings, cacheNodeType };
    return { settings, hour, shards: cacheOf(measured, load, settings).shards };
  });
  choices.sort((a, b) => a.shards - b.shards || a.hour - b.hour);
  return { ...shape, settings: choices[0]!.settings };
}

export function samplesOfMonth({ series, intervalMs }: Pick<Load, 'series' | 'intervalMs'>): number {
  return (series * SECONDS_OF_MONTH * 1000) / intervalMs;
}

function readsLine({ reads }: MeasuredUnits, count: number): CostLine {
  const each = (unit: Unit) => (reads.warm[unit] ?? 0) / reads.requests;
  const dollars =
    PRICE.httpRequest +
    PRICE.invocation +
    gbSeconds(each('FunctionMbMs')) * PRICE.functionGbSecond +
    each('ReadUnits') * PRICE.warmReadUnit +
    each('WriteUnits') * PRICE.warmWriteUnit +
    (READ_ANSWER_BYTES / GB) * PRICE.transferOutGb;
  return line(
    'reads',
    `${big(count)} graphs of a day of one series: a request, ${Math.round(each('FunctionMbMs'))} MB-ms, ${each('ReadUnits').toFixed(1)} read units, ${READ_ANSWER_BYTES / 1000} KB out`,
    count * dollars,
  );
}

/** Interpolates linearly between the runs with the fewest and the most samples a request. */
function perRequest(
  { posts }: MeasuredUnits,
  samplesPerRequest: number,
  of: (run: MeasuredUnits['posts'][number]) => number,
): number {
  const sorted = [...posts].sort((a, b) => a.samplesPerRequest - b.samplesPerRequest);
  const [few, many] = [sorted[0]!, sorted.at(-1)!];
  const [low, high] = [of(few) / few.requests, of(many) / many.requests];
  const slope = (high - low) / (many.samplesPerRequest - few.samplesPerRequest);
  return Math.max(0, low + slope * (samplesPerRequest - few.samplesPerRequest));
}

/** The most that memory holds, and the shards for it. */
function cacheOf(measured: MeasuredUnits, { series, intervalMs }: Load, settings: Settings) {
  const { tiers } = tiersOf(measured, settings.window);
  const hotBytesPerSample = tiers.hotBytes / tiers.samples;
  const residencyMs = settings.window + settings.flushDelay + FLUSH_TICK_MS;
  const hotBytes = series * Math.ceil(residencyMs / intervalMs) * hotBytesPerSample;
  const shards = Math.ceil(hotBytes / (nodeOf(settings).memoryGb * GB * USABLE_MEMORY));
  return { hotBytesPerSample, residencyMs, hotBytes, shards };
}

function tiersOf({ windows }: MeasuredUnits, windowMs: number) {
  const windowText = duration(windowMs);
  const tiers = windows[windowText];
  if (tiers === undefined)
    throw new UnknownCostError(
      `window: ${windowText} was not measured, only ${Object.keys(windows).join(', ')}; npm run bench -- units --windows ${windowText}`,
    );
  return { windowText, tiers };
}

function shardsFor(bytesPerSecond: number, recordsPerSecond: number): number {
  const share = Math.max(
    bytesPerSecond / SHARD_BYTES_PER_SECOND,
    recordsPerSecond / SHARD_RECORDS_PER_SECOND,
  );
  return Math.max(1, Math.ceil(share / SHARD_FILL));
}

/**
 * X-Ray's traces of invocations spread evenly over a month: the first of each second, and one in twenty of the rest.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/services-xray.html
 */
function tracesOf(invocations: number): number {
  return Math.min(invocations, SECONDS_OF_MONTH) + 0.05 * Math.max(0, invocations - SECONDS_OF_MONTH);
}

/** `4h`, `90m`: in the largest unit that divides it. */
function duration(ms: number): string {
  for (const [unit, size] of [
    ['d', DAY_MS],
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1000],
  ] as const)
    if (ms % size === 0) return `${ms / size}${unit}`;
  return `${ms}ms`;
}
