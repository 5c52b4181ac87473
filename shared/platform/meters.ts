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

/** The dimension is the function's full name with the stage, since two stages may share an account. */
const metrics = new Metrics({
  namespace: METRIC_NAMESPACE,
  serviceName: METRIC_SERVICE,
  defaultDimensions: { [METRIC_DIMENSION]: process.env.AWS_LAMBDA_FUNCTION_NAME ?? 'none' },
});
const { monitoring } = JSON.parse(process.env[ENV.settings] ?? '{}') as Partial<RuntimeSettings>;
const MEMORY_MB = Number(process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE ?? 0);

/** Adds to a function's metrics, which {@link withMetrics} publishes. */
export function count<F extends MeteredFunction>(
  _name: F,
  counts: Readonly<Partial<Record<Exclude<MetricName<F>, CountedUse>, number>>>,
): void {
  for (const [metric, value] of Object.entries(counts as Readonly<Record<string, number>>))
    add(metric, value);
}

/**
 * Wraps a function's handler so that it publishes its metrics, and the units that AWS bills for the
 * invocation, in CloudWatch's embedded metric format: as a log line, without a call. Units that are not
 * metrics are additional fields of the line.
 *
 * @param everyMs 0 for a line for each invocation. Otherwise one line for the invocations within this many
 *   ms, or for a hundred of them; each remains a separate value. An instance that ends loses what it has not
 *   published
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
 * Adds a metric; or a mere field, if monitoring is `essential` and no alarm needs the metric, since
 * CloudWatch charges for each published metric.
 */
function add(metric: string, value: number): void {
  if (monitoring === 'essential' && !ESSENTIAL_METRICS.includes(metric)) note(metric, value);
  else metrics.addMetric(metric, MetricUnit.Count, value);
}

/** Adds a field that is not a metric to the log line. */
function note(name: string, value: number): void {
  metrics.addMetadata(name, String(value));
}

let publishedMs = -Infinity;
let timer: NodeJS.Timeout | undefined;

/**
 * Publishes at once if the last time is long enough ago, so that an instance invoked once a minute delays
 * nothing.
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
