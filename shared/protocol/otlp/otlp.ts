import { LRUCache } from 'lru-cache';
import { type Labels, METRIC_NAME } from '../../model/labels';
import { LabelledRows, type LabelledSeries, labelledSeries } from '../labelled-rows';
import { type AcceptedTimes, MAX_AHEAD_MS, type Protocol } from '../protocol';
import {
  type Attributes,
  CUMULATIVE,
  type HistogramPoint,
  type Metric,
  type NumberPoint,
  type ResourceMetrics,
  type SummaryPoint,
} from './metrics';
import { bitsOfNumber } from './protobuf';
import { boundText, labelName, labelValue, metricName } from './translate';

/** The points that were not stored, for the answer. */
export interface DroppedPoints {
  /** Data points of which at least one sample was not stored. */
  readonly rejected: number;
  /** Samples that were not stored. */
  readonly samples: number;
  /** Sentences for the sender; with no point rejected they are warnings. */
  readonly reasons: readonly string[];
  readonly metadata: readonly OtlpMetadata[];
}

/** A metric's type, help and unit, by its translated name. */
export interface OtlpMetadata {
  readonly family: string;
  readonly type: 'gauge' | 'counter' | 'histogram' | 'summary';
  readonly help: string;
  readonly unit: string;
}

/** Prometheus' stale marker. */
const STALE_BITS = 0x7ff0000000000002n;
const ONE_BITS = bitsOfNumber(1);
/** How often `target_info` has a sample, so that a look-back of five minutes finds one. */
const TARGET_INFO_MS = 150_000;
/** Samples of `target_info` in a request, whatever range its points span. */
const MAX_TARGET_INFO = 100;
const MAX_REASONS = 5;
const MAX_SERIES_BYTES = 4_096;

/** Series by resource, metric, attributes and what the translation adds. Keys of attributes say where they end. */
const known = new LRUCache<string, LabelledSeries>({
  maxSize: 96_000_000,
  sizeCalculation: ({ labels }, key) => key.length + 300 + 40 * labels.length,
});

/**
 * OTLP metrics as Prometheus has them: names and labels by its default translation, histograms and summaries as their classic
 * series, resources as `job`, `instance` and `target_info`.
 *
 * Delta temporality and exponential histograms are not stored: their points are rejected, the others kept.
 *
 * @see https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/
 */
export const otlpMetrics: Protocol<readonly ResourceMetrics[], undefined, DroppedPoints> = {
  parse(resources, accepts) {
    const translation = new Translation(accepts);
    for (const resource of resources) translation.addResource(resource);
    return translation.finish();
  },
};

/** Labels that every series of a resource has, and those of its `target_info`. */
interface Target {
  readonly key: string;
  readonly labels: readonly (readonly [string, string])[];
  readonly info: readonly (readonly [string, string])[];
}

class Translation {
  private readonly rows = new LabelledRows();
  private readonly reasons = new Set<string>();
  private readonly metadata = new Map<string, OtlpMetadata>();
  private readonly oldestMs: number;
  private readonly newestMs: number;
  private rejected = 0;
  private droppedSamples = 0;
  /** Of the resource at hand. */
  private firstMs = Infinity;
  private lastMs = -Infinity;

  constructor({ nowMs, maxAgeMs }: AcceptedTimes) {
    this.oldestMs = nowMs - maxAgeMs;
    this.newestMs = nowMs + MAX_AHEAD_MS;
  }

  addResource({ resource, metrics }: ResourceMetrics): void {
    const target = targetOf(resource);
    this.firstMs = Infinity;
    this.lastMs = -Infinity;
    for (const metric of metrics) this.addMetric(target, metric);
    if (this.lastMs === -Infinity) return;
    if (target.labels.length === 0)
      this.note(
        'the resource has neither service.name nor service.instance.id: series of two senders may be one',
      );
    if (target.info.length > 0) this.addTargetInfo(target);
  }

  finish() {
    const dropped: DroppedPoints = {
      rejected: this.rejected,
      samples: this.droppedSamples,
      reasons: [...this.reasons],
      metadata: [...this.metadata.values()],
    };
    return { sources: this.rows.finish(), samples: this.rows.samples, dropped };
  }

  private addMetric(target: Target, metric: Metric): void {
    if (metric.kind === 'none') return;
    if (metric.kind === 'exponentialHistogram') {
      this.reject(metric, metric.pointCount, 'exponential histograms are not stored: use explicit buckets');
      return;
    }
    if (metric.points.length === 0) return;
    if ('temporality' in metric && metric.temporality !== CUMULATIVE) {
      const advice = 'only cumulative temporality is stored: use the deltatocumulative processor';
      this.reject(metric, metric.points.length, advice);
      return;
    }
    const name = metricName(metric);
    if (name === '') {
      this.reject(metric, metric.points.length, 'the name has no letter or digit');
      return;
    }
    this.describe(name, metric);
    const scope = `${name}\n${target.key}\n`;
    for (const point of metric.points) {
      const before = this.droppedSamples;
      if (metric.kind === 'histogram') this.addHistogram(target, scope, name, point as HistogramPoint);
      else if (metric.kind === 'summary') this.addSummary(target, scope, name, point as SummaryPoint);
      else {
        const { attributes, timestamp, isStale, bits } = point as NumberPoint;
        this.add(target, scope, name, attributes, timestamp, isStale ? STALE_BITS : bits);
      }
      if (this.droppedSamples > before) this.rejected++;
    }
  }

  private describe(family: string, metric: Exclude<Metric, { kind: 'none' | 'exponentialHistogram' }>): void {
    const isCounter = metric.kind === 'sum' && metric.isMonotonic;
    const type = metric.kind === 'sum' ? (isCounter ? 'counter' : 'gauge') : metric.kind;
    this.metadata.set(family, { family, type, help: metric.description, unit: metric.unit });
  }

  private addHistogram(target: Target, scope: string, name: string, point: HistogramPoint): void {
    const { attributes, timestamp, isStale, count, sumBits, bucketCounts, bounds } = point;
    const add = (suffix: string, bits: bigint, bound?: string) =>
      this.add(target, scope, name + suffix, attributes, timestamp, isStale ? STALE_BITS : bits, {
        suffix,
        ...(bound === undefined ? {} : { label: ['le', bound] as const }),
      });
    if (bucketCounts.length > 0 && bucketCounts.length !== bounds.length + 1) {
      this.droppedSamples++;
      this.note(`${name}: ${bucketCounts.length} buckets for ${bounds.length} bounds`);
      return;
    }
    if (sumBits !== undefined) add('_sum', sumBits);
    add('_count', bitsOfNumber(count));
    let running = 0;
    for (const [i, bound] of bounds.entries()) {
      running += bucketCounts[i] ?? 0;
      add('_bucket', bitsOfNumber(running), boundText(bound));
    }
    add('_bucket', bitsOfNumber(count), '+Inf');
  }

  private addSummary(target: Target, scope: string, name: string, point: SummaryPoint): void {
    const { attributes, timestamp, isStale, count, sumBits, quantiles } = point;
    const add = (suffix: string, bits: bigint, quantile?: string) =>
      this.add(target, scope, name + suffix, attributes, timestamp, isStale ? STALE_BITS : bits, {
        suffix,
        ...(quantile === undefined ? {} : { label: ['quantile', quantile] as const }),
      });
    add('_sum', sumBits);
    add('_count', bitsOfNumber(count));
    for (const { quantile, bits } of quantiles) add('', bits, boundText(quantile));
  }

  /** @param own what this series has beside the point's attributes */
  private add(
    target: Target,
    scope: string,
    name: string,
    attributes: Attributes,
    timestamp: number,
    bits: bigint,
    own: { readonly suffix: string; readonly label?: readonly [string, string] } = { suffix: '' },
  ): void {
    if (timestamp < this.oldestMs || timestamp > this.newestMs) {
      this.droppedSamples++;
      this.note(`${name}: time ${timestamp} ms is too ${timestamp < this.oldestMs ? 'old' : 'far ahead'}`);
      return;
    }
    const key = `${scope}${own.suffix}\n${own.label?.join('=') ?? ''}\n${attributes.key}`;
    let series = known.get(key);
    if (series === undefined) {
      const pairs = new Map(attributeLabels(attributes));
      for (const [label, value] of target.labels) pairs.set(label, value);
      if (own.label !== undefined) pairs.set(...own.label);
      pairs.set(METRIC_NAME, name);
      const labels = labelsOfPairs(pairs);
      if (labels === undefined) {
        this.droppedSamples++;
        this.note(`${name}: the labels have more than ${MAX_SERIES_BYTES} bytes`);
        return;
      }
      series = labelledSeries(labels);
      known.set(key, series);
    }
    if (timestamp < this.firstMs) this.firstMs = timestamp;
    if (timestamp > this.lastMs) this.lastMs = timestamp;
    this.rows.add(series, timestamp, bits);
  }

  private addTargetInfo({ key, labels, info }: Target): void {
    const cacheKey = `target_info\n${key}`;
    let series = known.get(cacheKey);
    if (series === undefined) {
      const all = labelsOfPairs(new Map([...info, ...labels, [METRIC_NAME, 'target_info']]));
      if (all === undefined) return;
      series = labelledSeries(all);
      known.set(cacheKey, series);
    }
    const stepMs = Math.max(TARGET_INFO_MS, (this.lastMs - this.firstMs) / MAX_TARGET_INFO);
    for (let at = this.firstMs; at < this.lastMs; at += stepMs)
      this.rows.add(series, Math.floor(at), ONE_BITS);
    this.rows.add(series, this.lastMs, ONE_BITS);
  }

  private reject({ name }: Metric, points: number, reason: string): void {
    this.rejected += points;
    this.droppedSamples += points;
    this.note(`${JSON.stringify(name.slice(0, 100))}: ${reason}`);
  }

  private note(reason: string): void {
    if (this.reasons.size < MAX_REASONS) this.reasons.add(reason);
  }
}

/** Labels of attributes; those whose names become the same are joined by `;` in the order of their names. */
function attributeLabels(attributes: Attributes): [string, string][] {
  const labels = new Map<string, string>();
  const sorted = [...attributes.decode()].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  for (const [attribute, value] of sorted) {
    const text = labelValue(value);
    const name = labelName(attribute);
    if (text === '' || name === '' || name === METRIC_NAME) continue;
    const earlier = labels.get(name);
    labels.set(name, earlier === undefined ? text : `${earlier};${text}`);
  }
  return [...labels];
}

function targetOf(resource: Attributes): Target {
  const attributes = new Map(resource.decode());
  const text = (name: string) => labelValue(attributes.get(name));
  const [namespace, service, instance] = ['service.namespace', 'service.name', 'service.instance.id'].map(
    text,
  );
  const labels: [string, string][] = [];
  if (service) labels.push(['job', namespace ? `${namespace}/${service}` : service]);
  if (instance) labels.push(['instance', instance]);
  const identifying = new Set(['service.namespace', 'service.name', 'service.instance.id']);
  const others = [...attributes].filter(([name]) => !identifying.has(name));
  const info = labels.length === 0 ? [] : attributeLabels({ key: '', decode: () => others });
  return { key: resource.key, labels, info };
}

/** @returns undefined when they have more bytes than a series may have */
function labelsOfPairs(pairs: ReadonlyMap<string, string>): Labels | undefined {
  const labels = [...pairs].sort(([a], [b]) => (a < b ? -1 : 1));
  const bytes = labels.reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value),
    0,
  );
  return bytes > MAX_SERIES_BYTES ? undefined : labels;
}
