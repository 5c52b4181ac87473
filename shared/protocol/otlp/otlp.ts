import { type Labels, METRIC_NAME } from '../../model/labels';
import { InvalidSeriesError, LabelledRows, type LabelledSeries } from '../labelled-rows';
import { type AcceptedTimes, MAX_AHEAD_MS, type Protocol } from '../protocol';
import { SeriesTable } from '../series-table';
import {
  type Attribute,
  type Attributes,
  CUMULATIVE,
  type DecodeAttributes,
  type HistogramPoint,
  MAX_BUCKETS,
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
/** Attributes of a resource that become `job` and `instance`. */
const IDENTIFYING = ['service.namespace', 'service.name', 'service.instance.id'];
const NO_BYTES = new Uint8Array(0);
const MAX_REASONS = 5;
/** Of an instance: a metric of a resource has one, or one for each of its buckets or quantiles. */
const MAX_SCOPES = 200_000;
const MAX_TABLE_BYTES = 128_000_000;

type Pairs = readonly (readonly [string, string])[];

/** What series have in common that differ in their points' attributes alone. */
interface Scope {
  readonly name: string;
  readonly target: Target;
  /** A label of this series: `le` or `quantile`. */
  readonly label?: readonly [string, string];
  /** Labels in place of those of a point. */
  readonly own?: Pairs;
}

/** A resource. */
interface Target {
  /** Labels that each of its series has. */
  readonly labels: Pairs;
  /** The scope of `target_info`; undefined when there is none. */
  readonly info?: Scope;
  readonly decode: DecodeAttributes;
  readonly scopes: Map<string, Scope>;
}

/** The series that an instance of post knows, by resource, metric and the bytes of their points' attributes. */
class KnownSeries {
  private static shared = new KnownSeries();

  readonly table = new SeriesTable<Scope>(MAX_TABLE_BYTES, labelsOfPoint);
  private readonly targets = new Map<string, Target>();
  private scopes = 0;

  static current(): KnownSeries {
    if (KnownSeries.shared.scopes > MAX_SCOPES) KnownSeries.shared = new KnownSeries();
    return KnownSeries.shared;
  }

  /** @throws {InvalidSeriesError} when the resource's attributes cannot be decoded */
  targetOf({ bytes, start, end }: Attributes, decode: DecodeAttributes): Target {
    // JSON begins with a bracket, which is no tag of an attribute.
    const key = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1', start, end);
    let target = this.targets.get(key);
    if (target?.decode !== decode) {
      target = makeTarget(decode(bytes, start, end), decode);
      this.targets.set(key, target);
      this.scopes += 1 + key.length / 200;
    }
    return target;
  }

  scopeOf(target: Target, name: string, label?: readonly [string, string]): Scope {
    const key = label === undefined ? name : `${name}\n${label[0]}=${label[1]}`;
    let scope = target.scopes.get(key);
    if (scope === undefined) {
      scope = { name, target, label };
      target.scopes.set(key, scope);
      this.scopes += 1 + key.length / 200;
    }
    return scope;
  }
}

/** The point's own label comes before the resource's, and those before its attributes. */
function labelsOfPoint(
  { name, target, label, own }: Scope,
  bytes: Uint8Array,
  start: number,
  end: number,
): Labels {
  const pairs = new Map(own ?? attributeLabels(target.decode(bytes, start, end)));
  for (const [targetLabel, value] of target.labels) pairs.set(targetLabel, value);
  if (label !== undefined) pairs.set(...label);
  pairs.set(METRIC_NAME, name);
  return sorted(pairs);
}

function sorted(pairs: Iterable<readonly [string, string]>): Labels {
  return [...pairs].sort(([a], [b]) => (a < b ? -1 : 1));
}

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

class Translation {
  private readonly rows = new LabelledRows();
  private readonly known = KnownSeries.current();
  private readonly nowMs: number;
  private readonly reasons = new Set<string>();
  private readonly metadata = new Map<string, OtlpMetadata>();
  private readonly oldestMs: number;
  private readonly newestMs: number;
  private rejected = 0;
  private droppedSamples = 0;
  /** Samples that the rows did not take. */
  private beyond = 0;
  /** Of the resource at hand. */
  private firstMs = Infinity;
  private lastMs = -Infinity;

  constructor({ nowMs, maxAgeMs }: AcceptedTimes) {
    this.nowMs = nowMs;
    this.oldestMs = nowMs - maxAgeMs;
    this.newestMs = nowMs + MAX_AHEAD_MS;
  }

  addResource({ resource, metrics, decode }: ResourceMetrics): void {
    const target = this.targetOf(resource, decode);
    this.firstMs = Infinity;
    this.lastMs = -Infinity;
    for (const metric of metrics)
      if (target instanceof InvalidSeriesError)
        this.reject(metric, pointsOf(metric), `resource: ${target.message}`);
      else this.addMetric(target, metric);
    if (this.lastMs === -Infinity || target instanceof InvalidSeriesError) return;
    if (target.labels.length === 0)
      this.note(
        'the resource has neither service.name nor service.instance.id: series of two senders may be one',
      );
    if (target.info !== undefined) this.addTargetInfo(target.info);
  }

  private targetOf(resource: Attributes, decode: DecodeAttributes): Target | InvalidSeriesError {
    try {
      return this.known.targetOf(resource, decode);
    } catch (error) {
      if (error instanceof InvalidSeriesError) return error;
      throw error;
    }
  }

  finish() {
    const { sources, samples } = this.rows.finish();
    // Rows that are left out at the end are no longer told apart by their points.
    const late = this.rows.beyond - this.beyond;
    if (this.rows.exceeded !== undefined) this.note(this.rows.exceeded);
    const dropped: DroppedPoints = {
      rejected: this.rejected + late,
      samples: this.droppedSamples + late,
      reasons: [...this.reasons],
      metadata: [...this.metadata.values()],
    };
    return { sources, samples, dropped };
  }

  private addMetric(target: Target, metric: Metric): void {
    if (metric.kind === 'none') return;
    if (metric.kind === 'exponentialHistogram') {
      this.reject(metric, metric.pointCount, 'exponential histograms are not stored: use explicit buckets');
      return;
    }
    if (metric.points.length === 0) return;
    if ((metric.kind === 'sum' || metric.kind === 'histogram') && metric.temporality !== CUMULATIVE) {
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
    const scope = this.known.scopeOf(target, name);
    for (const point of metric.points) {
      const before = this.droppedSamples;
      if (metric.kind === 'histogram') this.addHistogram(target, name, point as HistogramPoint);
      else if (metric.kind === 'summary') this.addSummary(target, name, point as SummaryPoint);
      else this.add(scope, point, (point as NumberPoint).bits);
      if (this.droppedSamples > before) this.rejected++;
    }
  }

  private describe(family: string, metric: Exclude<Metric, { kind: 'none' | 'exponentialHistogram' }>): void {
    const isCounter = metric.kind === 'sum' && metric.isMonotonic;
    const type = metric.kind === 'sum' ? (isCounter ? 'counter' : 'gauge') : metric.kind;
    this.metadata.set(family, { family, type, help: metric.description, unit: metric.unit });
  }

  private addHistogram(target: Target, name: string, point: HistogramPoint): void {
    const { count, sumBits, bucketCounts, bounds } = point;
    const { known } = this;
    if (bucketCounts.length > 0 && bucketCounts.length !== bounds.length + 1) {
      this.droppedSamples++;
      this.note(`${name}: ${bucketCounts.length} buckets for ${bounds.length} bounds`);
      return;
    }
    if (this.hasTooMany(name, bounds.length, 'buckets')) return;
    if (sumBits !== undefined) this.add(known.scopeOf(target, `${name}_sum`), point, sumBits);
    this.add(known.scopeOf(target, `${name}_count`), point, bitsOfNumber(count));
    let running = 0;
    const addBucket = (bound: string, total: number) =>
      this.add(known.scopeOf(target, `${name}_bucket`, ['le', bound]), point, bitsOfNumber(total));
    for (const [i, bound] of bounds.entries()) {
      running += bucketCounts[i] ?? 0;
      addBucket(boundText(bound), running);
    }
    addBucket('+Inf', count);
  }

  private hasTooMany(name: string, count: number, what: string): boolean {
    if (count <= MAX_BUCKETS) return false;
    this.droppedSamples++;
    this.note(`${name}: ${count} ${what}, ${MAX_BUCKETS} are allowed`);
    return true;
  }

  private addSummary(target: Target, name: string, point: SummaryPoint): void {
    const { count, sumBits, quantiles } = point;
    const { known } = this;
    if (this.hasTooMany(name, quantiles.length, 'quantiles')) return;
    this.add(known.scopeOf(target, `${name}_sum`), point, sumBits);
    this.add(known.scopeOf(target, `${name}_count`), point, bitsOfNumber(count));
    for (const { quantile, bits } of quantiles)
      this.add(known.scopeOf(target, name, ['quantile', boundText(quantile)]), point, bits);
  }

  private add(
    scope: Scope,
    { attributes, timestamp, isStale }: NumberPoint | HistogramPoint | SummaryPoint,
    bits: bigint,
  ): void {
    if (timestamp < this.oldestMs || timestamp > this.newestMs) {
      this.droppedSamples++;
      const isOld = timestamp < this.oldestMs;
      this.note(`${scope.name}: time ${timestamp} ms is too ${isOld ? 'old' : 'far ahead'}`);
      return;
    }
    const series = this.seriesOf(scope, attributes);
    if (series === undefined) {
      this.droppedSamples++;
      return;
    }
    if (!this.rows.add(series, timestamp, isStale ? STALE_BITS : bits)) {
      this.droppedSamples++;
      this.beyond++;
      return;
    }
    if (timestamp < this.firstMs) this.firstMs = timestamp;
    if (timestamp > this.lastMs) this.lastMs = timestamp;
  }

  /** @returns undefined when the series is invalid, which is noted, or when there is no room for it */
  private seriesOf(scope: Scope, { bytes, start, end }: Attributes): LabelledSeries | undefined {
    const { table } = this.known;
    const found = table.find(scope, bytes, start, end);
    if (found !== undefined) return found;
    if (this.rows.isFullOfLabels) {
      this.rows.leaveOutLabels();
      this.beyond++;
      return undefined;
    }
    try {
      return table.add(scope, bytes, start, end, this.nowMs);
    } catch (error) {
      if (!(error instanceof InvalidSeriesError)) throw error;
      this.note(`${scope.name}: ${error.message}`);
      return undefined;
    }
  }

  private addTargetInfo(scope: Scope): void {
    const series = this.seriesOf(scope, { bytes: NO_BYTES, start: 0, end: 0 });
    if (series === undefined) return;
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

function pointsOf(metric: Metric): number {
  if (metric.kind === 'none') return 0;
  return metric.kind === 'exponentialHistogram' ? metric.pointCount : metric.points.length;
}

/** Labels of attributes; those whose names become the same are joined by `;` in the order of their names. */
function attributeLabels(attributes: readonly Attribute[]): [string, string][] {
  const labels = new Map<string, string>();
  const inOrder = [...attributes].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  for (const [attribute, value] of inOrder) {
    const text = labelValue(value);
    const name = labelName(attribute);
    if (text === '' || name === '' || name === METRIC_NAME) continue;
    const earlier = labels.get(name);
    labels.set(name, earlier === undefined ? text : `${earlier};${text}`);
  }
  return [...labels];
}

function makeTarget(resource: readonly Attribute[], decode: DecodeAttributes): Target {
  const attributes = new Map(resource);
  const text = (name: string) => labelValue(attributes.get(name));
  const [namespace, service, instance] = IDENTIFYING.map(text);
  const labels: [string, string][] = [];
  if (service) labels.push(['job', namespace ? `${namespace}/${service}` : service]);
  if (instance) labels.push(['instance', instance]);
  const own = attributeLabels([...attributes].filter(([name]) => !IDENTIFYING.includes(name)));
  const target = { labels, decode, scopes: new Map() };
  if (labels.length === 0 || own.length === 0) return target;
  return { ...target, info: { name: 'target_info', target, own } };
}
