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
import { boundText, labelName, labelValue, metricName, type NamedMetric } from './translate';

/** The points that were not stored, for the answer. */
export interface DroppedPoints {
  /** Data points of which at least one sample was not stored. */
  readonly rejected: number;
  /** Samples that were not stored. */
  readonly samples: number;
  readonly exemplars: number;
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
/** Of what is known of resources and metrics, about. */
const MAX_KNOWN_BYTES = 48_000_000;
/** Of a point's attributes; a series' labels are shorter. */
const MAX_ATTRIBUTE_BYTES = 16_384;

type Pairs = readonly (readonly [string, string])[];

/** What series have in common that differ in their resource and their points' attributes alone. */
interface Scope {
  readonly id: number;
  readonly name: string;
  /** A label of this series: `le` or `quantile`. */
  readonly label?: readonly [string, string];
}

/** A metric of this name that a sender names so has another scope. */
const TARGET_INFO: Scope = { id: 0, name: 'target_info' };

/** A resource. */
interface Target {
  readonly id: number;
  /** Labels that each of its series has. */
  readonly labels: Pairs;
  /** Labels of `target_info`; undefined when it has none. */
  readonly info?: Pairs;
  readonly decode: DecodeAttributes;
}

/** The series that an instance of post knows, by resource, metric and the bytes of their points' attributes. */
class KnownSeries {
  private static shared = new KnownSeries();

  private readonly table = new SeriesTable<undefined>((_, bytes, start, end) =>
    this.labelsOf(bytes, start, end),
  );
  private readonly targets = new Map<string, Target>();
  private readonly targetsById: Target[] = [];
  private readonly scopes = new Map<string, Scope>();
  private readonly names = new Map<string, string>();
  private readonly scopesById: Scope[] = [TARGET_INFO];
  private bytes = 0;
  /** Names a series: ids of its resource and scope, then attributes. */
  private readonly named = Buffer.alloc(8 + MAX_ATTRIBUTE_BYTES);

  /** What earlier requests made known; nothing when that is too much. */
  static current(): KnownSeries {
    if (KnownSeries.shared.bytes > MAX_KNOWN_BYTES) {
      KnownSeries.shared.table.clear();
      KnownSeries.shared = new KnownSeries();
    }
    return KnownSeries.shared;
  }

  /** @throws {InvalidSeriesError} when the resource's attributes cannot be decoded */
  targetOf({ bytes, start, end }: Attributes, decode: DecodeAttributes): Target {
    const key = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1', start, end);
    let target = this.targets.get(key);
    if (target?.decode !== decode) {
      target = makeTarget(this.targetsById.length, decode(bytes, start, end), decode);
      this.targets.set(key, target);
      this.targetsById.push(target);
      this.bytes += 1_500 + 4 * key.length;
    }
    return target;
  }

  /** {@link metricName}, translated once. */
  nameOf(metric: NamedMetric): string {
    const { name, unit, kind, isMonotonic = false } = metric;
    const key = `${kind} ${isMonotonic} ${unit}\n${name}`;
    let translated = this.names.get(key);
    if (translated === undefined) {
      translated = metricName(metric);
      this.names.set(key, translated);
      this.bytes += 150 + 2 * key.length + 2 * translated.length;
    }
    return translated;
  }

  scopeOf(name: string, label?: readonly [string, string]): Scope {
    const key = label === undefined ? name : `${name}\n${label[0]}=${label[1]}`;
    let scope = this.scopes.get(key);
    if (scope === undefined) {
      scope = { id: this.scopesById.length, name, ...(label && { label }) };
      this.scopes.set(key, scope);
      this.scopesById.push(scope);
      this.bytes += 250 + 2 * key.length;
    }
    return scope;
  }

  /**
   * @param mayAdd whether a series that is not known is made
   * @returns undefined when it is not known and may not be made
   * @throws {InvalidSeriesError}
   */
  seriesOf(
    target: Target,
    scope: Scope,
    { bytes, start, end }: Attributes,
    mayAdd: boolean,
    nowMs: number,
  ): LabelledSeries | undefined {
    const { table, named } = this;
    if (end - start > MAX_ATTRIBUTE_BYTES)
      throw new InvalidSeriesError(`attributes of ${end - start} bytes, ${MAX_ATTRIBUTE_BYTES} are allowed`);
    named.writeUInt32LE(target.id, 0);
    named.writeUInt32LE(scope.id, 4);
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).copy(named, 8, start, end);
    const length = 8 + end - start;
    const found = table.find(undefined, named, 0, length);
    return found ?? (mayAdd ? table.add(undefined, named, 0, length, nowMs) : undefined);
  }

  /** A series' own label comes before the resource's, and those before its attributes. */
  private labelsOf(bytes: Uint8Array, start: number, end: number): Labels {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const target = this.targetsById[view.getUint32(start, true)]!;
    const scope = this.scopesById[view.getUint32(start + 4, true)]!;
    const pairs = new Map(
      scope === TARGET_INFO ? target.info : attributeLabels(target.decode(bytes, start + 8, end)),
    );
    for (const [label, value] of target.labels) pairs.set(label, value);
    if (scope.label !== undefined) pairs.set(...scope.label);
    pairs.set(METRIC_NAME, scope.name);
    return [...pairs].sort(([a], [b]) => (a < b ? -1 : 1));
  }
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
  private exemplars = 0;
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

  addResource({ resource, metrics, exemplars, decode }: ResourceMetrics): void {
    this.exemplars += exemplars;
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
    if (target.info !== undefined) this.addTargetInfo(target);
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
    if (this.exemplars > 0) this.note(`${this.exemplars} exemplars were left out, which are not stored`);
    const dropped: DroppedPoints = {
      rejected: this.rejected + late,
      samples: this.droppedSamples + late,
      exemplars: this.exemplars,
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
    const name = this.known.nameOf(metric);
    if (name === '') {
      this.reject(metric, metric.points.length, 'the name has no letter or digit');
      return;
    }
    this.describe(name, metric);
    const scope = this.known.scopeOf(name);
    for (const [i, point] of metric.points.entries()) {
      if (this.rows.isFull) {
        // Finding which of their series the request has had would take as long as storing them.
        this.leaveOut(metric.points.length - i);
        return;
      }
      const before = this.droppedSamples;
      if (metric.kind === 'histogram') this.addHistogram(target, name, point as HistogramPoint);
      else if (metric.kind === 'summary') this.addSummary(target, name, point as SummaryPoint);
      else this.add(target, scope, point, (point as NumberPoint).bits);
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
    if (sumBits !== undefined) this.add(target, known.scopeOf(`${name}_sum`), point, sumBits);
    this.add(target, known.scopeOf(`${name}_count`), point, bitsOfNumber(count));
    let running = 0;
    const addBucket = (bound: string, total: number) =>
      this.add(target, known.scopeOf(`${name}_bucket`, ['le', bound]), point, bitsOfNumber(total));
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
    this.add(target, known.scopeOf(`${name}_sum`), point, sumBits);
    this.add(target, known.scopeOf(`${name}_count`), point, bitsOfNumber(count));
    for (const { quantile, bits } of quantiles)
      this.add(target, known.scopeOf(name, ['quantile', boundText(quantile)]), point, bits);
  }

  private add(
    target: Target,
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
    const series = this.seriesOf(target, scope, attributes);
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
  private seriesOf(target: Target, scope: Scope, attributes: Attributes): LabelledSeries | undefined {
    const mayAdd = !this.rows.isFull;
    try {
      const series = this.known.seriesOf(target, scope, attributes, mayAdd, this.nowMs);
      if (series === undefined) {
        this.rows.leaveOutUnknown();
        this.beyond++;
      }
      return series;
    } catch (error) {
      if (!(error instanceof InvalidSeriesError)) throw error;
      this.note(`${scope.name}: ${error.message}`);
      return undefined;
    }
  }

  private addTargetInfo(target: Target): void {
    const series = this.seriesOf(target, TARGET_INFO, { bytes: NO_BYTES, start: 0, end: 0 });
    if (series === undefined) return;
    const stepMs = Math.max(TARGET_INFO_MS, (this.lastMs - this.firstMs) / MAX_TARGET_INFO);
    for (let at = this.firstMs; at < this.lastMs; at += stepMs)
      this.rows.add(series, Math.floor(at), ONE_BITS);
    this.rows.add(series, this.lastMs, ONE_BITS);
  }

  private reject({ name }: Metric, points: number, reason: string): void {
    this.leaveOut(points);
    this.note(`${JSON.stringify(name.slice(0, 100))}: ${reason}`);
  }

  private leaveOut(points: number): void {
    this.rejected += points;
    this.droppedSamples += points;
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

function makeTarget(id: number, resource: readonly Attribute[], decode: DecodeAttributes): Target {
  const attributes = new Map(resource);
  const text = (name: string) => labelValue(attributes.get(name));
  const [namespace, service, instance] = IDENTIFYING.map(text);
  const labels: [string, string][] = [];
  if (service) labels.push(['job', namespace ? `${namespace}/${service}` : service]);
  if (instance) labels.push(['instance', instance]);
  const info = attributeLabels([...attributes].filter(([name]) => !IDENTIFYING.includes(name)));
  return { id, labels, decode, ...(labels.length > 0 && info.length > 0 && { info }) };
}
