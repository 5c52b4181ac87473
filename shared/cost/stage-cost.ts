import { DAY_MS } from '../model/duration';
import { CALLS_REPEATED, ESSENTIAL_METRICS, type FunctionName, METRICS, type Unit } from '../platform/names';
import { CACHE_NODES, GB, HOURS_OF_MONTH, PRICE } from '../platform/prices';
import type { Settings } from '../platform/settings';
import { big, type CostLine, counted, days, gb, gbSeconds, line } from './cost-line';
import type { IDLE_FUNCTIONS, MeasuredUnits } from './measured-units';

/** Parts of a stage's templates that cost money even while the stage is idle. */
export interface StageTemplate {
  readonly settings: Settings;
  /** Functions that schedules invoke, and how often. */
  readonly ticks: readonly { readonly name: FunctionName; readonly perMonth: number }[];
  readonly memoryMb: Readonly<Record<FunctionName, number>>;
  /** Whether X-Ray traces a function's invocations. */
  readonly isTraced: (name: FunctionName) => boolean;
  /** Number of metrics that alarms watch. An alarm on metric math watches several metrics. */
  readonly alarmMetrics: number;
  readonly dashboards: number;
}

/** No price or measurement exists for a setting, such as a window or a node type. */
export class UnknownCostError extends Error {
  override readonly name = 'UnknownCostError';
}

const MINUTES_OF_MONTH = HOURS_OF_MONTH * 60;
/**
 * Size of a line in a function's metrics log, and of a line in the API's access log, in bytes. Each includes 26 bytes
 * added by CloudWatch.
 */
export const METRICS_LINE_BYTES = 650;
export const ACCESS_LINE_BYTES = 340;
/** Number of requests per month that recovery makes to list failed batches: one every 15 minutes. */
const REDRIVE_LISTS = HOURS_OF_MONTH * 4;
/** Number of the canary's reads per month: one per minute, another every ten minutes, and another every hour. */
const CANARY_READS = MINUTES_OF_MONTH * (1 + 1 / 10 + 1 / 60);

/** Returns the monthly cost of a stage that receives no posts and no reads. */
export function idleCost(measured: MeasuredUnits, template: StageTemplate): CostLine[] {
  const { settings } = template;
  return [
    cacheLine(template, settings.cacheShards),
    isOnDemand(template) ? onDemandStreamLine(template) : streamShardsLine(template, settings.streamShards),
    ...upkeep(measured, template),
  ];
}

/** Returns whether the stage's stream is on demand: Kinesis scales it and bills by the byte. */
export function isOnDemand({ settings }: StageTemplate): boolean {
  return settings.streamMode === 'on-demand';
}

export function cacheLine({ settings }: StageTemplate, cacheShards: number, why = 'as configured'): CostLine {
  const { hour } = nodeOf(settings);
  const nodes = cacheShards * (settings.cacheReplicas + 1);
  return line(
    'cache nodes',
    `${nodes} ${settings.cacheNodeType} (${counted(cacheShards, 'shard', 'shards')}, ${counted(settings.cacheReplicas + 1, 'copy', 'copies')}) at $${hour} an hour; ${why}`,
    {},
    nodes * hour * HOURS_OF_MONTH,
  );
}

export function streamShardsLine(
  { settings }: StageTemplate,
  shards: number,
  why = 'as configured',
): CostLine {
  const isExtended = settings.streamRetention > DAY_MS;
  const shardHour = PRICE.shardHour + (isExtended ? PRICE.shardHourExtended : 0);
  const hours = shards * HOURS_OF_MONTH;
  return line(
    'stream shards',
    `${shards} at $${shardHour.toFixed(3)} an hour, remembering ${days(settings.streamRetention)}; ${why}`,
    { shardHour: hours, ...(isExtended && { shardHourExtended: hours }) },
  );
}

/**
 * Returns the monthly cost of an on-demand stream: its hourly price, the bytes written to it and read from
 * it, and the bytes kept for more than a day.
 *
 * @param bytes bytes written in a month, with each record rounded up to 1 KB
 * @param readBytes bytes read in a month
 * @see https://aws.amazon.com/kinesis/data-streams/pricing/
 */
export function onDemandStreamLine({ settings }: StageTemplate, bytes = 0, readBytes = 0): CostLine {
  const monthMs = HOURS_OF_MONTH * 3_600_000;
  const kept = (bytes * Math.max(0, settings.streamRetention - DAY_MS)) / monthMs;
  return line(
    'stream on demand',
    `$${PRICE.streamHour} an hour, ${gb(bytes)} in at $${PRICE.streamGbIn} with records rounded up to 1 KB, ${gb(readBytes)} out at $${PRICE.streamGbOut}, ${gb(kept)} remembered beyond a day at $${PRICE.streamGbMonth}`,
    {
      streamHour: HOURS_OF_MONTH,
      streamGbIn: bytes / GB,
      streamGbOut: readBytes / GB,
      streamGbMonth: kept / GB,
    },
  );
}

/**
 * Returns the monthly cost of scheduled invocations and the work that they cause, and of metrics, alarms and
 * dashboards.
 */
export function upkeep({ idle, reads }: MeasuredUnits, template: StageTemplate): CostLine[] {
  const runs = [
    ...template.ticks,
    // Every minute, recovery puts a heartbeat into each shard, which invokes the ingester.
    { name: 'ingester' as const, perMonth: template.settings.streamShards * MINUTES_OF_MONTH },
  ];
  const measured = runs.flatMap(({ name, perMonth }) => {
    const each = idle[name as (typeof IDLE_FUNCTIONS)[number]];
    return each === undefined ? [] : [{ name, perMonth, ...each }];
  });
  const invocations = sum(runs, ({ perMonth }) => perMonth);
  const mbMs = sum(measured, ({ name, perMonth, ms }) => perMonth * ms * template.memoryMb[name]);
  const unitsOf = (unit: Unit) => sum(measured, ({ perMonth, units }) => perMonth * (units[unit] ?? 0));
  const hasCanary = template.ticks.some(({ name }) => name === 'canary');
  const posts = hasCanary ? MINUTES_OF_MONTH : 0;
  const canaryReads = hasCanary ? CANARY_READS : 0;
  const requests = posts + canaryReads;
  const requestMbMs = canaryReads * ((reads.warm.FunctionMbMs ?? 0) / reads.requests);
  const traced = sum(
    [
      ...runs,
      { name: 'post' as const, perMonth: posts },
      { name: 'query' as const, perMonth: canaryReads },
    ].filter(({ name }) => template.isTraced(name)),
    ({ perMonth }) => perMonth,
  );
  // Leave out metrics that are rarely published: the replayer's, and the number of retried calls.
  const metrics = sum(
    Object.entries(METRICS).filter(([name]) => name !== 'replayer'),
    ([, names]) =>
      names.filter(
        (name) =>
          name !== CALLS_REPEATED &&
          (template.settings.monitoring === 'full' || ESSENTIAL_METRICS.includes(name)),
      ).length,
  );
  const logBytes = invocations * METRICS_LINE_BYTES + requests * (ACCESS_LINE_BYTES + METRICS_LINE_BYTES);
  return [
    line(
      'scheduled functions',
      `${big(invocations)} invocations (${[...new Set(runs.map(({ name }) => name))].join(', ')}) at $0.20 a million, ${big(gbSeconds(mbMs))} GB-s`,
      { invocation: invocations, functionGbSecond: gbSeconds(mbMs) },
    ),
    line(
      'canary',
      `${big(requests)} requests at $1.20 a million with their invocations, ${big(gbSeconds(requestMbMs))} GB-s`,
      { httpRequest: requests, invocation: requests, functionGbSecond: gbSeconds(requestMbMs) },
    ),
    line(
      'scheduled table units',
      `${big(unitsOf('ReadUnits'))} read and ${big(unitsOf('WriteUnits'))} write units`,
      { warmReadUnit: unitsOf('ReadUnits'), warmWriteUnit: unitsOf('WriteUnits') },
    ),
    line('scheduled lists', `${big(REDRIVE_LISTS)} lists of failed batches at $5 a million`, {
      objectPut: REDRIVE_LISTS,
    }),
    line('scheduled traces', `${big(traced)} at $5 a million`, { trace: traced }),
    line('scheduled logs', `${gb(logBytes)} at $0.50`, { logGb: logBytes / GB }),
    line('metrics', `${metrics} custom ones at $0.30`, { metricMonth: metrics }),
    line('alarms', `${template.alarmMetrics} metrics that alarms look at, at $0.10`, {
      alarmMetricMonth: template.alarmMetrics,
    }),
    line('dashboards', `${template.dashboards} at $3`, { dashboardMonth: template.dashboards }),
  ];
}

export function nodeOf({ cacheNodeType }: Settings): (typeof CACHE_NODES)[string] {
  const node = CACHE_NODES[cacheNodeType];
  if (node === undefined)
    throw new UnknownCostError(
      `cacheNodeType: the price of ${cacheNodeType} is not known; known are ${Object.keys(CACHE_NODES).join(', ')}`,
    );
  return node;
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
