import { DAY_MS } from '../model/duration';
import { type FunctionName, METRICS, type Unit } from '../platform/names';
import type { Settings } from '../platform/settings';
import type { CostLine } from './cost';
import type { IDLE_FUNCTIONS, MeasuredUnits, Units } from './measured-units';
import {
  CACHE_NODES,
  GB,
  HOURS_OF_MONTH,
  PRICE,
  SHARD_BYTES_PER_SECOND,
  SHARD_RECORDS_PER_SECOND,
} from './prices';

/** What of a stage's templates costs money whether or not it is used. */
export interface StageShape {
  readonly settings: Settings;
  /** What the clock invokes. */
  readonly ticks: readonly { readonly name: FunctionName; readonly perMonth: number }[];
  readonly memoryMb: Readonly<Record<FunctionName, number>>;
  /** Whether invocations leave traces in X-Ray. */
  readonly isTraced: (name: FunctionName) => boolean;
  /** Metrics that alarms look at; an alarm of metric math looks at several. */
  readonly alarmMetrics: number;
  readonly dashboards: number;
}

/** What is posted, stored and read. */
export interface Load {
  readonly series: number;
  readonly intervalMs: number;
  readonly retentionMs: number;
  readonly samplesPerRequest: number;
  /** Graphs of a day of one series, a month. */
  readonly reads: number;
}

/** A window, a node type or another thing of which no figure is known. */
export class UnknownCostError extends Error {
  override readonly name = 'UnknownCostError';
}

const SECONDS_OF_MONTH = HOURS_OF_MONTH * 3600;
const MINUTES_OF_MONTH = HOURS_OF_MONTH * 60;
/** ElastiCache keeps a quarter of a node's memory aside; of the rest half is planned, so that flushes may stand still for a while. */
const USABLE_MEMORY = 0.75 * 0.5;
/** A shard is planned half full, so that it can catch up. */
const SHARD_FILL = 0.5;
/** The flusher comes each minute. */
const FLUSH_TICK_MS = 60_000;
/** Of an item beside its chunk: keys, attributes, and the 100 bytes that DynamoDB adds. */
const ITEM_OVERHEAD_BYTES = 330;
/** DynamoDB removes what has expired within two days, a day later on average. */
const EXPIRY_DELAY_MS = DAY_MS;
/** A line of metrics, one of the API's access log, and what a request adds to post's line of a hundred; with 26 of CloudWatch. */
const METRICS_LINE_BYTES = 650;
const ACCESS_LINE_BYTES = 340;
const METRICS_PER_POST_BYTES = 25;
/** Head and body of an answer to a post, and of a graph. */
const POST_ANSWER_BYTES = 300;
const READ_ANSWER_BYTES = 40_000;
/** Of the canary, a month: a post and a read each minute, another each ten minutes and each hour. */
const CANARY_READS = MINUTES_OF_MONTH * (1 + 1 / 10 + 1 / 60);

/** What a stage costs in a month in which nobody posts and nobody reads. */
export function idleCost(measured: MeasuredUnits, shape: StageShape): CostLine[] {
  const { settings } = shape;
  return [...capacity(shape, settings.cacheShards, settings.streamShards), ...upkeep(measured, shape)];
}

/**
 * What a load costs in a month, once the archive is full. Cache and stream have as many shards as it takes.
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
  // What it takes without layouts is among what happens by the clock.
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

/** The same stage with the type of cache node of which fewest shards hold a load, and of those the cheapest. */
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

export function totalOf(lines: readonly CostLine[]): number {
  return lines.reduce((sum, { dollars }) => sum + dollars, 0);
}

/** What is paid by the hour. */
function capacity(
  { settings }: StageShape,
  cacheShards: number,
  streamShards: number,
  whyCache = 'as the stage has it',
  whyStream = 'as the stage has it',
): CostLine[] {
  const { hour } = nodeOf(settings);
  const nodes = cacheShards * (settings.cacheReplicas + 1);
  const isExtended = settings.streamRetention > DAY_MS;
  const shardHour = PRICE.shardHour + (isExtended ? PRICE.shardHourExtended : 0);
  return [
    line(
      'cache nodes',
      `${nodes} ${settings.cacheNodeType} (${counted(cacheShards, 'shard', 'shards')}, ${counted(settings.cacheReplicas + 1, 'copy', 'copies')}) at $${hour} an hour; ${whyCache}`,
      nodes * hour * HOURS_OF_MONTH,
    ),
    line(
      'stream shards',
      `${streamShards} at $${shardHour.toFixed(3)} an hour, remembering ${days(settings.streamRetention)}; ${whyStream}`,
      streamShards * shardHour * HOURS_OF_MONTH,
    ),
  ];
}

/** What happens by the clock, and what watches it. */
function upkeep({ idle, reads }: MeasuredUnits, shape: StageShape): CostLine[] {
  const runs = [
    ...shape.ticks,
    // A heartbeat in every shard each minute.
    { name: 'ingester' as const, perMonth: shape.settings.streamShards * MINUTES_OF_MONTH },
  ];
  const measured = runs.flatMap(({ name, perMonth }) => {
    const each = idle[name as (typeof IDLE_FUNCTIONS)[number]];
    return each === undefined ? [] : [{ name, perMonth, ...each }];
  });
  const invocations = sum(runs, ({ perMonth }) => perMonth);
  const mbMs = sum(measured, ({ name, perMonth, ms }) => perMonth * ms * shape.memoryMb[name]);
  const unitsOf = (unit: Unit) => sum(measured, ({ perMonth, units }) => perMonth * (units[unit] ?? 0));
  const hasCanary = shape.ticks.some(({ name }) => name === 'canary');
  const posts = hasCanary ? MINUTES_OF_MONTH : 0;
  const looks = hasCanary ? CANARY_READS : 0;
  const requests = posts + looks;
  const requestMbMs = looks * ((reads.warm.FunctionMbMs ?? 0) / reads.requests);
  const traced = sum(
    [...runs, { name: 'post' as const, perMonth: posts }, { name: 'query' as const, perMonth: looks }].filter(
      ({ name }) => shape.isTraced(name),
    ),
    ({ perMonth }) => perMonth,
  );
  // Those of the replayer are published while it runs.
  const metrics = sum(
    Object.entries(METRICS).filter(([name]) => name !== 'replayer'),
    ([, names]) => names.length,
  );
  const logBytes = invocations * METRICS_LINE_BYTES + requests * (ACCESS_LINE_BYTES + METRICS_LINE_BYTES);
  return [
    line(
      'functions by the clock',
      `${big(invocations)} invocations (${[...new Set(runs.map(({ name }) => name))].join(', ')}) at $0.20 a million, ${big(gbSeconds(mbMs))} GB-s`,
      invocations * PRICE.invocation + gbSeconds(mbMs) * PRICE.functionGbSecond,
    ),
    line(
      'canary',
      `${big(requests)} requests at $1.20 a million with their invocations, ${big(gbSeconds(requestMbMs))} GB-s`,
      requests * (PRICE.httpRequest + PRICE.invocation) + gbSeconds(requestMbMs) * PRICE.functionGbSecond,
    ),
    line(
      'tables by the clock',
      `${big(unitsOf('ReadUnits'))} read and ${big(unitsOf('WriteUnits'))} write units`,
      unitsOf('ReadUnits') * PRICE.warmReadUnit + unitsOf('WriteUnits') * PRICE.warmWriteUnit,
    ),
    line('traces by the clock', `${big(traced)} at $5 a million`, traced * PRICE.trace),
    line('logs by the clock', `${gb(logBytes)} at $0.50`, (logBytes / GB) * PRICE.logGb),
    line('metrics', `${metrics} of our own at $0.30`, metrics * PRICE.metricMonth),
    line(
      'alarms',
      `${shape.alarmMetrics} metrics that alarms look at, at $0.10`,
      shape.alarmMetrics * PRICE.alarmMetricMonth,
    ),
    line('dashboard', `${shape.dashboards} at $3`, shape.dashboards * PRICE.dashboardMonth),
  ];
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

/** By the line through what was measured with few samples a request and with many. */
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

/** What memory holds at most, and the shards that it takes. */
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

function nodeOf({ cacheNodeType }: Settings): (typeof CACHE_NODES)[string] {
  const node = CACHE_NODES[cacheNodeType];
  if (node === undefined)
    throw new UnknownCostError(
      `cacheNodeType: the price of ${cacheNodeType} is not known, only of ${Object.keys(CACHE_NODES).join(', ')}`,
    );
  return node;
}

function shardsFor(bytesPerSecond: number, recordsPerSecond: number): number {
  const share = Math.max(
    bytesPerSecond / SHARD_BYTES_PER_SECOND,
    recordsPerSecond / SHARD_RECORDS_PER_SECOND,
  );
  return Math.max(1, Math.ceil(share / SHARD_FILL));
}

/**
 * Of so many invocations evenly through a month: the first of each second, and one in twenty of the others.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/services-xray.html
 */
function tracesOf(invocations: number): number {
  return Math.min(invocations, SECONDS_OF_MONTH) + 0.05 * Math.max(0, invocations - SECONDS_OF_MONTH);
}

function gbSeconds(mbMs: number): number {
  return mbMs / 1024 / 1000;
}

function line(what: string, because: string, dollars: number): CostLine {
  return { what, because, dollars };
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}

function big(value: number): string {
  for (const [size, name] of [
    [1e9, ' billion'],
    [1e6, ' M'],
    [1e3, ' k'],
  ] as const)
    if (value >= size) return `${Number((value / size).toPrecision(3))}${name}`;
  return String(Number(value.toPrecision(3)));
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}

function gb(bytes: number): string {
  return `${Number((bytes / GB).toPrecision(3))} GB`;
}

function perSample(value: number): string {
  return value.toFixed(2);
}

function days(ms: number): string {
  return `${Number((ms / DAY_MS).toFixed(1))} d`;
}

/** `4h`, `90m`: the shortest way to write it. */
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
