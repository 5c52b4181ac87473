import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import {
  type CountedUse,
  ENV,
  ESSENTIAL_METRICS,
  METRIC_DIMENSION,
  METRIC_NAMESPACE,
  METRIC_SERVICE,
  METRICS,
  type MeteredFunction,
  type MetricName,
} from './names';
import type { RuntimeSettings } from './settings';
import { takeUnits } from './units';

/** The dimension's value contains the stage, since an account may have two stages. */
const metrics = new Metrics({
  namespace: METRIC_NAMESPACE,
  serviceName: METRIC_SERVICE,
  defaultDimensions: { [METRIC_DIMENSION]: process.env.AWS_LAMBDA_FUNCTION_NAME ?? 'none' },
});
const { monitoring } = JSON.parse(process.env[ENV.settings] ?? '{}') as Partial<RuntimeSettings>;
const MEMORY_MB = Number(process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE ?? 0);

/** Counts metrics of a function. {@link withMetrics} publishes them. */
export function count<F extends MeteredFunction>(
  _name: F,
  counts: Readonly<Partial<Record<Exclude<MetricName<F>, CountedUse>, number>>>,
): void {
  for (const [metric, value] of Object.entries(counts as Readonly<Record<string, number>>))
    add(metric, value);
}

/**
 * Wraps a function's handler, so that it publishes the function's metrics, and the units that AWS bills for the
 * invocation. The wrapper writes both as a log line in CloudWatch's embedded metric format, which needs no call to AWS.
 * Units that are not metrics of the function become plain fields of the line.
 *
 * @param everyMs 0 writes a line for each invocation. Otherwise a line covers all invocations within this number of ms,
 *   at most a hundred, with separate values for each. If an instance is stopped, the lines that it has not written yet
 *   are lost
 */
export function withMetrics<F extends MeteredFunction, Args extends unknown[], Result>(
  name: F,
  handler: (...args: Args) => Promise<Result>,
  everyMs = 0,
): (...args: Args) => Promise<Result> {
  return async (...args) => {
    const startedMs = performance.now();
    try {
      return await handler(...args);
    } finally {
      const units = new Map<CountedUse, number>(takeUnits());
      units.set('FunctionMbMs', Math.ceil(performance.now() - startedMs) * MEMORY_MB);
      for (const [unit, amount] of units) {
        if ((METRICS[name] as readonly string[]).includes(unit)) add(unit, amount);
        else note(unit, amount);
      }
      publishWithin(everyMs);
    }
  };
}

/**
 * Adds a metric to the log line. Because CloudWatch charges for each metric, adds a plain field instead if monitoring
 * is `essential` and no alarm needs the metric.
 */
function add(metric: string, value: number): void {
  if (monitoring === 'essential' && !ESSENTIAL_METRICS.includes(metric)) note(metric, value);
  else metrics.addMetric(metric, MetricUnit.Count, value);
}

/** Adds a field that is not a metric to the log line. */
function note(name: string, value: number): void {
  metrics.addMetadata(name, String(value));
}

/** When metrics were last published, in ms, by `performance.now()`. */
let publishedMs = -Infinity;
let timer: NodeJS.Timeout | undefined;

/**
 * Publishes now if the last publication was at least `everyMs` ago; otherwise as soon as that much time has passed. So
 * an instance that is rarely invoked, such as once a minute, publishes without delay.
 */
function publishWithin(everyMs: number): void {
  const waitMs = publishedMs + everyMs - performance.now();
  if (!metrics.hasStoredMetrics()) return void metrics.clearMetadata();
  if (waitMs <= 0) publish();
  else timer ??= setTimeout(publish, waitMs).unref();
}

function publish(): void {
  clearTimeout(timer);
  timer = undefined;
  publishedMs = performance.now();
  metrics.publishStoredMetrics();
}
