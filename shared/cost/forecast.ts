import { DAY_MS } from '../model/duration';
import type { Unit } from '../platform/names';
import { GB } from '../platform/prices';
import { big, type CostLine, counted, days, gb, gbSeconds, line, perSample } from './cost-line';
import { demandOf, type Load, SECONDS_OF_MONTH, samplesHeld, type Work } from './demand';
import type { MeasuredUnits } from './measured-units';
import { REPLACED_DAYS, type RollupDemand } from './rollup-demand';
import {
  ACCESS_LINE_BYTES,
  cacheLine,
  isOnDemand,
  METRICS_LINE_BYTES,
  onDemandStreamLine,
  type StageTemplate,
  streamShardsLine,
  upkeep,
} from './stage-cost';

/** Number of bytes that a request adds to post's metrics log. A hundred requests share one log line. */
const METRICS_PER_POST_BYTES = 25;
/** Size of the response to a post, including headers, in bytes. */
const POST_RESPONSE_BYTES = 300;
/** Size of the response to a request for a graph, including headers, in bytes. */
const READ_RESPONSE_BYTES = 40_000;

/**
 * Forecasts a load's monthly cost on a stage. Assumes that all tiers are full, unless the load has an
 * `ageMs`. Takes the numbers of shards from the stage's settings, so set them to what {@link needsOf} returns.
 *
 * @throws {UnknownCostError}
 */
export function forecast(measured: MeasuredUnits, load: Load, template: StageTemplate): CostLine[] {
  const { settings } = template;
  const demand = demandOf(measured, load, template);
  const { samples, requests, post, ingester, sweep, rollups } = demand;
  const traces =
    (template.isTraced('post') ? tracesOf(post.invocations) : 0) +
    (template.isTraced('ingester') ? tracesOf(ingester.invocations) : 0);
  const isAtUrl = settings.postEndpoint === 'url';
  const accessLineBytes = isAtUrl ? 0 : ACCESS_LINE_BYTES;
  const logBytes =
    requests * (accessLineBytes + METRICS_PER_POST_BYTES) +
    ingester.invocations * METRICS_LINE_BYTES +
    (SECONDS_OF_MONTH / 10) * METRICS_LINE_BYTES;
  const betweenZones = 2 * samples * demand.hotBytesPerSample * ((settings.zones - 1) / settings.zones);
  const functionTime = (what: string, { invocations, mbMs }: Work): CostLine =>
    line(
      what,
      `${invocations === 0 ? '' : `${big(invocations)} invocations at $0.20 a million, `}${big(gbSeconds(mbMs))} GB-s at $0.0000133334 (${perSample(mbMs / samples)} MB-ms a sample)`,
      { invocation: invocations, functionGbSecond: gbSeconds(mbMs) },
    );
  return [
    line(
      'API requests',
      isAtUrl
        ? 'none: clients post to the URL of the function, which charges for the invocation alone'
        : `${big(samples)} samples, ${load.samplesPerRequest} a request, at $1.00 a million`,
      { httpRequest: isAtUrl ? 0 : requests },
    ),
    functionTime('post', post),
    line(
      'stream puts',
      isOnDemand(template)
        ? 'none: a stream on demand charges by the byte'
        : `${big(demand.putUnits)} units of 25 KB (${(demand.putUnits / requests).toFixed(1)} a request: a record a partition) at $0.014 a million`,
      { streamUnit: isOnDemand(template) ? 0 : demand.putUnits },
    ),
    functionTime('ingester', ingester),
    functionTime('flusher', demand.flusher),
    functionTime('archiver', demand.archiver),
    line(
      'warm writes',
      `${big(demand.writeUnits)} write units at $0.625 a million: ${big(demand.windows)} group-windows of ${demand.windowText} with ${Math.round(demand.bytesPerWindow)} bytes each, the layouts, the archive's directory and its manifest`,
      { warmWriteUnit: demand.writeUnits },
    ),
    line('warm reads', `${big(demand.readUnits)} read units of flusher and archiver at $0.125 a million`, {
      warmReadUnit: demand.readUnits,
    }),
    line(
      'warm storage',
      `${gb(demand.warmBytes)} (${perSample(demand.warmBytes / samplesHeld(samples, demand.warmMs))} bytes a sample for ${days(demand.warmMs)}) at $0.25 a GB, and $0.20 a GB for recovery to a point in time`,
      { warmGbMonth: demand.warmBytes / GB, recoveryGbMonth: demand.warmBytes / GB },
    ),
    line(
      'directory storage',
      `${gb(demand.directoryBytes)} at the same prices: the table knows the place of each source's samples of ${days(load.retentionMs)} in the archive`,
      { warmGbMonth: demand.directoryBytes / GB, recoveryGbMonth: demand.directoryBytes / GB },
    ),
    line(
      'archive storage',
      `${gb(demand.coldBytes)} at $0.023 a GB: Parquet with versions and indexes, ${perSample(demand.coldBytes / samplesHeld(samples, demand.coldMs))} bytes a sample for ${days(load.retentionMs)}; a removed object stays ${REPLACED_DAYS} d longer`,
      { coldGbMonth: demand.coldBytes / GB },
    ),
    line(
      'archive requests',
      `${big(demand.objects)} objects, at least one a partition and day: ${big(demand.objectPuts)} PUTs, of at most 8 MB, and lists at $5 a million`,
      { objectPut: demand.objectPuts },
    ),
    rollupsLine(demand.rollups),
    line(
      'rollup storage',
      `${gb(rollups.bytes + rollups.replacedBytes)} at $0.023 a GB: ${gb(rollups.bytes)} of hours and days (${perSample(rollups.bytes / (load.series * (load.retentionMs / DAY_MS)))} bytes a series and day for ${days(load.retentionMs)}), and ${gb(rollups.replacedBytes)} of objects that were replaced in the last ${REPLACED_DAYS} d`,
      { coldGbMonth: (rollups.bytes + rollups.replacedBytes) / GB },
    ),
    line(
      'sweep',
      `${big(sweep.readUnits)} read units to count the series of ${big(sweep.layouts)} layouts each hour, and ${big(gbSeconds(sweep.mbMs))} GB-s`,
      { warmReadUnit: sweep.readUnits, functionGbSecond: gbSeconds(sweep.mbMs) },
    ),
    line(
      'logs',
      `${gb(logBytes)} at $0.50 a GB: ${accessLineBytes} bytes of each request in the access log, and metrics`,
      {
        logGb: logBytes / GB,
      },
    ),
    line(
      'traces',
      `${traces === 0 ? 'post and ingester leave none' : `${big(traces)} of post and ingester`}, at $5 a million`,
      { trace: traces },
    ),
    line(
      'transfer between zones',
      `${gb(betweenZones)}, half of what goes into memory and out of it, at $0.02 with ${settings.zones} zones`,
      { transferZoneGb: betweenZones / GB },
    ),
    line('transfer in', 'free', {}),
    line('transfer out', `responses of ${POST_RESPONSE_BYTES} bytes at $0.09 a GB`, {
      transferOutGb: (requests * POST_RESPONSE_BYTES) / GB,
    }),
    readsLine(measured, load.reads),
    cacheLine(
      template,
      settings.cacheShards,
      `${gb(demand.hotBytes)} at most, which need ${counted(demand.cacheShards, 'shard', 'shards')}: ${perSample(demand.hotBytesPerSample)} bytes a sample for ${Math.ceil(demand.residencyMs / 60_000)} minutes`,
    ),
    isOnDemand(template)
      ? onDemandStreamLine(template, Math.max(demand.streamBytes, 1000 * demand.records), demand.streamBytes)
      : streamShardsLine(
          template,
          settings.streamShards,
          `${counted(demand.streamShards, 'is', 'are')} needed: ${big(demand.streamBytes / SECONDS_OF_MONTH)} bytes and ${big(demand.records / SECONDS_OF_MONTH)} records a second, planned half full (${perSample(demand.streamBytes / samples)} bytes a sample, ${big(samples / SECONDS_OF_MONTH)} samples a second)`,
        ),
    ...upkeep(measured, template),
  ];
}

function rollupsLine({ seriesDays, mbMs, writeUnits, readUnits, puts, gets }: RollupDemand): CostLine {
  return line(
    'rollups',
    seriesDays === 0
      ? 'none: rollups=off, or no day is archived yet'
      : `${big(seriesDays)} days of a series are rolled up; their month and year are written again with them: ${big(gbSeconds(mbMs))} GB-s, ${big(writeUnits)} write and ${big(readUnits)} read units, ${big(puts)} PUTs and lists, ${big(gets)} GETs`,
    {
      functionGbSecond: gbSeconds(mbMs),
      warmWriteUnit: writeUnits,
      warmReadUnit: readUnits,
      objectPut: puts,
      objectGet: gets,
    },
  );
}

function readsLine({ reads }: MeasuredUnits, count: number): CostLine {
  const each = (unit: Unit) => (reads.warm[unit] ?? 0) / reads.requests;
  return line(
    'reads',
    `${big(count)} graphs of a day of one series: a request, ${Math.round(each('FunctionMbMs'))} MB-ms, ${each('ReadUnits').toFixed(1)} read units, ${READ_RESPONSE_BYTES / 1000} KB out`,
    {
      httpRequest: count,
      invocation: count,
      functionGbSecond: count * gbSeconds(each('FunctionMbMs')),
      warmReadUnit: count * each('ReadUnits'),
      warmWriteUnit: count * each('WriteUnits'),
      transferOutGb: (count * READ_RESPONSE_BYTES) / GB,
    },
  );
}

/**
 * Returns the number of X-Ray traces, if the invocations are spread evenly over a month. X-Ray traces the
 * first invocation of each second and 5 % of the others.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/services-xray.html
 */
function tracesOf(invocations: number): number {
  return Math.min(invocations, SECONDS_OF_MONTH) + 0.05 * Math.max(0, invocations - SECONDS_OF_MONTH);
}
