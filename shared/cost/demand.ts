import { DAY_MS, durationText } from '../model/duration';
import { SOURCE_BUCKETS } from '../platform/keys';
import type { Unit } from '../platform/names';
import { GB, HOURS_OF_MONTH, SHARD_BYTES_PER_SECOND, SHARD_RECORDS_PER_SECOND } from '../platform/prices';
import type { Settings } from '../platform/settings';
import { putUnitsOf } from '../platform/units';
import type { MeasuredUnits, Units } from './measured-units';
import { REPLACED_DAYS, type RollupDemand, rollupDemand } from './rollup-demand';
import { nodeOf, type StageTemplate, UnknownCostError } from './stage-cost';

/** A load: samples posted, stored and read. */
export interface Load {
  readonly series: number;
  readonly intervalMs: number;
  readonly retentionMs: number;
  readonly samplesPerRequest: number;
  /** Number of graphs drawn per month. Each graph shows one day of one series. */
  readonly reads: number;
  /** Number of tenants. All tenants have the same load. */
  readonly tenants: number;
  /**
   * Time since the first post, in ms. While it is shorter than the retention, the tiers are not full yet.
   *
   * @default every tier is full
   */
  readonly ageMs?: number;
}

/** A function's work per month. */
export interface Work {
  readonly invocations: number;
  /** Memory in MB multiplied by duration in ms, as Lambda bills it. */
  readonly mbMs: number;
}

/** The work, billed units and storage that a load needs per month. */
export interface Demand {
  readonly samples: number;
  readonly requests: number;
  /** Number of records put into the stream, and their bytes including partition keys. */
  readonly records: number;
  readonly streamBytes: number;
  readonly putUnits: number;
  /** Number of shards that the stream needs, if each is planned to be half full. */
  readonly streamShards: number;
  readonly post: Work;
  readonly ingester: Work;
  /**
   * The flusher and the archiver run on a schedule, so the number of their invocations does not depend on the
   * load and is 0 here.
   */
  readonly flusher: Work;
  readonly archiver: Work;
  readonly sweep: Work & { readonly layouts: number; readonly readUnits: number };
  /** Units of the warm table and the meta table together. */
  readonly writeUnits: number;
  readonly readUnits: number;
  /** Number of group-windows per month, and the length of a window as text. */
  readonly windows: number;
  readonly windowText: string;
  readonly bytesPerWindow: number;
  /** Maximum number of bytes that the samples of the load take in memory at one time. */
  readonly hotBytes: number;
  readonly hotBytesPerSample: number;
  readonly residencyMs: number;
  readonly cacheShards: number;
  readonly warmBytes: number;
  readonly warmMs: number;
  /** Size of the table items that record where archived samples are stored, in bytes. */
  readonly directoryBytes: number;
  readonly coldBytes: number;
  /**
   * How long the bucket stores an archived byte, in ms: the retention, plus the time for which the bucket keeps deleted
   * versions.
   */
  readonly coldMs: number;
  /** Number of archive objects, and of the requests that write and list them. */
  readonly objects: number;
  readonly objectPuts: number;
  readonly rollups: RollupDemand;
}

export const SECONDS_OF_MONTH = HOURS_OF_MONTH * 3600;
const DAYS_OF_MONTH = HOURS_OF_MONTH / 24;

/**
 * Returns the number of samples that a store holds if it keeps each sample for `ms`.
 *
 * @param samples number of samples a month
 */
export function samplesHeld(samples: number, ms: number): number {
  return (samples / (SECONDS_OF_MONTH * 1000)) * ms;
}

/**
 * Share of a node's memory that is planned for data. ElastiCache reserves a quarter. Half of the rest is kept free, in
 * case flushing fails.
 */
const USABLE_MEMORY = 0.75 * 0.5;
/** Share of a stream shard's capacity that is planned for the load. The rest lets readers catch up. */
const SHARD_FILL = 0.5;
/** Time between two runs of the flusher, in ms. */
const FLUSH_TICK_MS = 60_000;
/**
 * Size of a warm item without its chunk (keys and attributes), in bytes. DynamoDB bills writes by the size of
 * an item.
 */
const ITEM_BYTES = 230;
/** Bytes that DynamoDB adds to each stored item. */
const STORED_ITEM_BYTES = 100;
const WRITE_UNIT_BYTES = 1024;
/**
 * Read units for looking up a host. Post looks up each host once an hour
 * (functions/post/registered-sources.ts).
 */
const LOOK_UP_UNITS = 1;
/** Read units of an eventually consistent query that finds little. */
const QUERY_UNITS = 0.5;
/**
 * Bytes that the table stores for each archived day of a source with 100 series: 830 in the archive's
 * directory, and 110 in the rollups' directory. Measured by `npm run simulate -- --load`.
 */
const DIRECTORY_BYTES = 940;
/** Average time until DynamoDB deletes an expired item, in ms. It may take up to two days. */
const EXPIRY_DELAY_MS = DAY_MS;
/** Maximum size of a request that writes a part of an archive object (cold/object-upload.ts), in bytes. */
const UPLOAD_BYTES = 8 * 1024 * 1024;
/**
 * Scales measured units to a load. Assumes that all tiers are full, unless the load has an `ageMs`.
 *
 * @throws {UnknownCostError}
 */
export function demandOf(measured: MeasuredUnits, load: Load, { settings }: StageTemplate): Demand {
  const { windowText, tiers } = tiersOf(measured, settings.window);
  const samples = samplesOfMonth(load);
  const requests = samples / load.samplesPerRequest;
  const post = (unit: Unit) =>
    requests * perRequest(measured, load.samplesPerRequest, ({ units }) => units[unit] ?? 0);
  const records =
    requests * recordsOfRequest(measured.load.metrics, load.samplesPerRequest, settings.partitions);
  const streamBytes = requests * perRequest(measured, load.samplesPerRequest, (run) => run.streamBytes);
  const scaled = (units: Units, unit: Unit) => (samples * (units[unit] ?? 0)) / tiers.samples;
  const streamShards = shardsFor(streamBytes / SECONDS_OF_MONTH, records / SECONDS_OF_MONTH);
  const batches = Math.max(
    (streamShards * SECONDS_OF_MONTH * 1000) / Math.max(settings.batchWindow, 100),
    records / settings.batchSize,
  );
  const windows = (samples * tiers.flusher.windows) / tiers.samples;
  const warmMs = Math.min(load.ageMs ?? Infinity, settings.warmTtl + EXPIRY_DELAY_MS);
  const coldMs = Math.min(archivedFor(load, settings), load.retentionMs + REPLACED_DAYS * DAY_MS);
  // A new stage archives nothing until its first day is old enough.
  const isArchiving = archivedFor(load, settings) > 0;
  const scaledArchive = (unit: Unit) => (isArchiving ? scaled(tiers.archiver.units, unit) : 0);
  const partitionDays = isArchiving ? DAYS_OF_MONTH * load.tenants * settings.partitions : 0;
  const bytesOfPartitionDay =
    (samples * tiers.coldBytes) / tiers.samples / (DAYS_OF_MONTH * load.tenants * settings.partitions);
  const objects = partitionDays * Math.max(1, Math.ceil(bytesOfPartitionDay / settings.archivePartBytes));
  const bytesPerWindow = tiers.warmBytes / tiers.flusher.windows;
  const layouts = load.series / measured.load.metrics;
  // The cost of idle invocations already includes a sweep that finds nothing, so subtract it here.
  const sweepMbMs =
    (HOURS_OF_MONTH *
      layouts *
      Math.max(0, (tiers.sweep.units.FunctionMbMs ?? 0) - (measured.idle.operator.units.FunctionMbMs ?? 0))) /
    tiers.sweep.layouts;
  const sweepQueries = HOURS_OF_MONTH * (layouts + load.tenants * SOURCE_BUCKETS);
  return {
    samples,
    requests,
    records,
    streamBytes,
    putUnits: records * putUnitsOf(streamBytes / records),
    streamShards,
    post: { invocations: requests, mbMs: post('FunctionMbMs') },
    ingester: { invocations: batches, mbMs: scaled(tiers.ingester.units, 'FunctionMbMs') },
    flusher: { invocations: 0, mbMs: scaled(tiers.flusher.units, 'FunctionMbMs') },
    archiver: { invocations: 0, mbMs: scaledArchive('FunctionMbMs') },
    sweep: { invocations: 0, mbMs: sweepMbMs, layouts, readUnits: QUERY_UNITS * sweepQueries },
    // Count windows instead of scaling the flusher's measured units, because some items, such as a
    // partition's manifest, do not grow with the number of windows. The 0.5 is what rounding an item up to whole units
    // adds on average.
    writeUnits:
      post('WriteUnits') +
      windows * ((bytesPerWindow + ITEM_BYTES) / WRITE_UNIT_BYTES + 0.5) +
      scaled(tiers.ingester.units, 'WriteUnits') +
      scaledArchive('WriteUnits'),
    readUnits:
      post('ReadUnits') +
      (measured.load.looksUpHosts ? layouts * HOURS_OF_MONTH * LOOK_UP_UNITS : 0) +
      scaled(tiers.ingester.units, 'ReadUnits') +
      scaled(tiers.flusher.units, 'ReadUnits') +
      scaledArchive('ReadUnits'),
    windows,
    windowText,
    bytesPerWindow,
    ...cacheOf(measured, load, settings),
    warmBytes:
      (samplesHeld(samples, warmMs) *
        (tiers.warmBytes + tiers.flusher.windows * (ITEM_BYTES + STORED_ITEM_BYTES))) /
      tiers.samples,
    warmMs,
    directoryBytes:
      layouts * DIRECTORY_BYTES * (Math.min(archivedFor(load, settings), load.retentionMs) / DAY_MS),
    coldBytes: (samplesHeld(samples, coldMs) * tiers.coldBytes) / tiers.samples,
    coldMs,
    objects,
    // Each object takes a request to begin its upload and one to complete it. Each day takes a request to list its
    // objects.
    objectPuts: (partitionDays * bytesOfPartitionDay) / UPLOAD_BYTES + 2 * objects + partitionDays,
    rollups: rollupDemand(
      measured.load,
      tiers.rollups,
      { ...load, ageMs: archivedFor(load, settings) },
      { partitionDays: settings.rollups === 'off' ? 0 : partitionDays, objects },
    ),
  };
}

/**
 * Returns how many shards of the stream and of the cache a load needs, if they are planned to be half full.
 *
 * @throws {UnknownCostError}
 */
export function needsOf(
  measured: MeasuredUnits,
  load: Load,
  template: StageTemplate,
): { readonly streamShards: number; readonly cacheShards: number } {
  const { streamShards, cacheShards } = demandOf(measured, load, template);
  // Kinesis scales an on-demand stream itself.
  return { streamShards: template.settings.streamMode === 'on-demand' ? 0 : streamShards, cacheShards };
}

export function samplesOfMonth({ series, intervalMs }: Pick<Load, 'series' | 'intervalMs'>): number {
  return (series * SECONDS_OF_MONTH * 1000) / intervalMs;
}

/**
 * Returns for how long a stage has been archiving days, in ms: its age, less the time until a sample is
 * archived. A sample waits for the end of its day (half a day on average), and then for `archiveAfter`.
 */
function archivedFor({ ageMs = Infinity }: Load, { archiveAfter }: Settings): number {
  return Math.max(0, ageMs - archiveAfter - DAY_MS / 2);
}

/**
 * Returns the average number of stream records that a request produces. Post makes one record for each partition that
 * contains any of the request's hosts.
 *
 * @param metrics number of series per host
 */
export function recordsOfRequest(metrics: number, samplesPerRequest: number, partitions: number): number {
  const hosts = Math.max(1, samplesPerRequest / metrics);
  return partitions * (1 - (1 - 1 / partitions) ** hosts);
}

/**
 * Returns an amount per request, for requests with this number of samples. Interpolates linearly between the
 * measured runs with the fewest and the most samples per request.
 */
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

/** Returns the peak memory of the hot tier, and the number of cache shards that it needs. */
function cacheOf(measured: MeasuredUnits, { series, intervalMs }: Load, settings: Settings) {
  const { tiers } = tiersOf(measured, settings.window);
  const hotBytesPerSample = tiers.hotBytes / tiers.samples;
  // Windows that began together are flushed one by one, while the next windows are already growing. So memory is
  // fullest when the first windows are flushed.
  const residencyMs = settings.window + FLUSH_TICK_MS;
  const hotBytes = series * Math.ceil(residencyMs / intervalMs) * hotBytesPerSample;
  const cacheShards = Math.ceil(hotBytes / (nodeOf(settings).memoryGb * GB * USABLE_MEMORY));
  return { hotBytesPerSample, residencyMs, hotBytes, cacheShards };
}

function tiersOf({ windows }: MeasuredUnits, windowMs: number) {
  const windowText = durationText(windowMs);
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
