import { ByteTable } from '../../dictionary/byte-table';
import { EncodedSeries } from '../../dictionary/encoded-series';
import { InvalidSeriesError, type SeriesDictionary } from '../../dictionary/series-dictionary';
import type { RowSeries } from '../../dictionary/series-source';
import { type Labels, METRIC_NAME } from '../../model/labels';
import { MAX_AHEAD_MS } from '../../model/placement';
import type { Encoded } from '../field-range';
import { type AcceptedTimes, type Protocol, timeBoundText } from '../protocol';
import { RequestRows } from '../request-rows';
import { TARGET_INFO_NAME } from './count-points';
import {
  type Attribute,
  CUMULATIVE,
  type DecodeAttributes,
  type DecodeHeader,
  type HistogramPoint,
  MAX_BUCKETS,
  METRIC_KINDS,
  type MetricKind,
  type MetricsSink,
  type MetricTraits,
  type OtlpMetadata,
  type ReadMetrics,
  type SummaryPoint,
} from './metrics';
import { attributeText, boundText, metricName } from './translate';

/** The points that were not stored. */
export interface DroppedPoints {
  /** Number of data points without a sample in the parsed rows. */
  readonly rejected: number;
  /**
   * Rows that name one series of each further data point that was not stored completely. `countPoints` counts these
   * points together with the points that the tenant's limit `series` cut, so that each point counts once.
   */
  readonly cut: readonly RowSeries[];
  /** Number of samples that were not stored. */
  readonly samples: number;
  readonly exemplars: number;
  /** Sentences for the sender. If no point was rejected, the sentences are warnings. */
  readonly reasons: readonly string[];
  readonly metadata: readonly OtlpMetadata[];
}

/** Bits of the value 1, and of Prometheus' stale marker. */
const ONE = { low: 0, high: 0x3ff00000 };
const STALE = { low: 2, high: 0x7ff00000 };
/** Interval of `target_info` samples in ms. It is short enough for a look-back of five minutes to find a sample. */
const TARGET_INFO_MS = 150_000;
/** Maximum number of `target_info` samples in a request, however long the time range of its points. */
const MAX_TARGET_INFO = 100;
/** Resource attributes from which the labels `job` and `instance` are made. */
const IDENTIFYING = ['service.namespace', 'service.name', 'service.instance.id'];
const scratch = new DataView(new ArrayBuffer(8));
const NOTHING: Encoded = { bytes: Buffer.alloc(0), start: 0, end: 0 };
const MAX_REASONS = 5;
/** Maximum size of a point's attributes, in bytes. A series' labels are shorter than this. */
const MAX_ATTRIBUTE_BYTES = 16_384;

type Pairs = readonly (readonly [string, string])[];

/**
 * The part of a series' labels that comes from its metric: the name and, for some series, the label `le` or
 * `quantile`. The other labels come from the resource and from the point's attributes.
 */
interface Scope {
  readonly id: number;
  readonly name: string;
  readonly nameLabel: Labels[number];
  /** The extra label, `le` or `quantile`. */
  readonly label?: readonly [string, string];
}

/** Scope of `target_info`. A sender's own metric of this name gets another scope. */
const TARGET_INFO: Scope = { id: 0, name: TARGET_INFO_NAME, nameLabel: [METRIC_NAME, TARGET_INFO_NAME] };

/** A resource, translated to labels. */
interface Target {
  readonly id: number;
  /** Labels that each series of the resource has. */
  readonly labels: Pairs;
  /** Additional labels of `target_info`; undefined if the resource has no series `target_info`. */
  readonly info?: Pairs;
  readonly decode: DecodeAttributes;
}

type Member = 'sum' | 'count' | number;

/** A metric that occurred in an earlier request or point. */
interface KnownMetric {
  readonly kind: MetricKind;
  /** The decoder of the header's encoding. */
  readonly decode: DecodeHeader;
  readonly name: string;
  /** Name in Prometheus; empty when the sender's name has no letter or digit. */
  readonly family: string;
  readonly scope: Scope;
  /** The scopes of the additional series of a histogram or summary, by bucket bound or quantile. */
  readonly members: Map<Member, Scope>;
  readonly metadata: OtlpMetadata;
}

/** A tenant's known series, by resource, metric and the bytes of the point's attributes. */
class PointSeries {
  private readonly table: EncodedSeries;
  private readonly targets = new Map<string, Target>();
  /** Targets; a target's index is its id. */
  private readonly allTargets: Target[] = [];
  /** Indexes in {@link metrics}, by the bytes of the encoded header. The scope is the number of the traits. */
  private readonly metricTable: ByteTable;
  private readonly metrics: KnownMetric[] = [];
  private readonly scopes = new Map<string, Scope>();
  /** Scopes; a scope's index is its id. */
  private readonly allScopes: Scope[] = [TARGET_INFO];

  constructor(private readonly dictionary: SeriesDictionary) {
    this.metricTable = new ByteTable((bytes) => dictionary.use(bytes));
    this.table = new EncodedSeries(dictionary, (bytes, start, end, target, scope) =>
      labelsOf(this.allTargets[target]!, this.allScopes[scope]!, bytes, start, end),
    );
  }

  /** @throws {InvalidSeriesError} when the resource's attributes cannot be decoded */
  targetOf({ bytes, start, end }: Encoded, decode: DecodeAttributes): Target {
    const key = bytes.toString('latin1', start, end);
    let target = this.targets.get(key);
    if (target?.decode !== decode) {
      target = makeTarget(this.allTargets.length, decode(bytes, start, end), decode);
      this.targets.set(key, target);
      this.allTargets.push(target);
      this.dictionary.use(1_500 + 4 * key.length);
    }
    return target;
  }

  /** @throws any error of `decode` */
  metricOf(traits: MetricTraits, header: Encoded, decode: DecodeHeader): KnownMetric {
    const { metricTable, metrics } = this;
    const { bytes, start, end } = header;
    const { kind, isMonotonic } = traits;
    const traitsNumber = 2 * METRIC_KINDS.indexOf(kind) + (isMonotonic ? 1 : 0);
    const entry = metricTable.find(bytes, start, end, traitsNumber);
    const known = entry === 0 ? undefined : metrics[metricTable.valueOf(entry)]!;
    if (known?.decode === decode) return known;
    const metric = this.makeMetric(traits, header, decode);
    const index = metrics.push(metric) - 1;
    if (entry === 0) metricTable.add(bytes, start, end, index, traitsNumber);
    else metricTable.setValue(entry, index);
    this.dictionary.use(600 + 6 * (end - start));
    return metric;
  }

  private makeMetric(
    { kind, isMonotonic }: MetricTraits,
    { bytes, start, end }: Encoded,
    decode: DecodeHeader,
  ): KnownMetric {
    const { name, description, unit } = decode(bytes, start, end);
    const family = kind === 'exponentialHistogram' ? '' : metricName({ name, unit, kind, isMonotonic });
    const type =
      kind === 'sum' || kind === 'exponentialHistogram' ? (isMonotonic ? 'counter' : 'gauge') : kind;
    return {
      kind,
      decode,
      name,
      family,
      scope: this.scopeOf(family),
      members: new Map(),
      metadata: { family, type, help: description, unit },
    };
  }

  memberOf({ family, kind, members }: KnownMetric, member: Member): Scope {
    let scope = members.get(member);
    if (scope === undefined) {
      if (typeof member === 'string') scope = this.scopeOf(`${family}_${member}`);
      else if (kind === 'histogram') scope = this.scopeOf(`${family}_bucket`, ['le', boundText(member)]);
      else scope = this.scopeOf(family, ['quantile', boundText(member)]);
      members.set(member, scope);
      this.dictionary.use(60);
    }
    return scope;
  }

  private scopeOf(name: string, label?: readonly [string, string]): Scope {
    const key = label === undefined ? name : `${name}\n${label[0]}=${label[1]}`;
    let scope = this.scopes.get(key);
    if (scope === undefined) {
      scope = { id: this.allScopes.length, name, nameLabel: [METRIC_NAME, name], ...(label && { label }) };
      this.scopes.set(key, scope);
      this.allScopes.push(scope);
      this.dictionary.use(250 + 2 * key.length);
    }
    return scope;
  }

  /**
   * Finds a series, or creates it.
   *
   * @param mayAdd whether an unknown series may be created
   * @returns the series' number; undefined when it is unknown and may not be created
   * @throws {InvalidSeriesError}
   */
  seriesOf(
    target: Target,
    scope: Scope,
    { bytes, start, end }: Encoded,
    mayAdd: boolean,
  ): number | undefined {
    if (end - start > MAX_ATTRIBUTE_BYTES)
      throw new InvalidSeriesError(
        `attributes of ${end - start} bytes; at most ${MAX_ATTRIBUTE_BYTES} are allowed`,
      );
    const { table } = this;
    const found = table.find(bytes, start, end, target.id, scope.id);
    if (found !== 0) return found;
    return mayAdd ? table.add(bytes, start, end, target.id, scope.id) : undefined;
  }
}

/**
 * Builds a series' labels. If several labels have the same name, the series' own label takes precedence over the
 * resource's label, and the resource's label over labels of attributes.
 */
function labelsOf(target: Target, scope: Scope, bytes: Buffer, start: number, end: number): Labels {
  const attributes = scope === TARGET_INFO ? [] : target.decode(bytes, start, end);
  const labels: Labels[number][] = [scope.nameLabel, ...target.labels];
  if (scope.label !== undefined) labels.push(scope.label);
  if (scope === TARGET_INFO) labels.push(...target.info!);
  for (const { label } of attributes) if (label !== undefined) labels.push(label);
  sortByName(labels);
  if (labels.every(([name], i) => i === 0 || name !== labels[i - 1]![0])) return labels;
  const pairs = new Map([...(scope === TARGET_INFO ? target.info! : attributeLabels(attributes))]);
  for (const [label, value] of target.labels) pairs.set(label, value);
  if (scope.label !== undefined) pairs.set(...scope.label);
  pairs.set(...scope.nameLabel);
  const distinct = [...pairs];
  sortByName(distinct);
  return distinct;
}

/** Sorts labels in place. An insertion sort is the fastest, because there are few labels, and most are in order. */
function sortByName(labels: Labels[number][]): void {
  for (let i = 1; i < labels.length; i++) {
    const label = labels[i]!;
    let at = i;
    for (; at > 0 && labels[at - 1]![0] > label[0]; at--) labels[at] = labels[at - 1]!;
    labels[at] = label;
  }
}

/**
 * OTLP metrics, stored as Prometheus would: names and labels by its default translation, histograms and
 * summaries as classic series, resources as `job`, `instance` and `target_info`.
 *
 * Points with delta temporality and exponential histograms are rejected; all other points are stored.
 *
 * @see https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/
 */
export const otlpMetrics: Protocol<ReadMetrics, undefined, DroppedPoints> = {
  parse(dictionary, read, accepts) {
    const translation = new Translation(dictionary, accepts);
    read(translation);
    return translation.finish();
  },
};

class Translation implements MetricsSink {
  private readonly known: PointSeries;
  private readonly rows: RequestRows;
  private readonly reasons = new Set<string>();
  private readonly metadata = new Map<string, OtlpMetadata>();
  private readonly maxAgeMs: number;
  private readonly oldestMs: number;
  private readonly newestMs: number;
  private rejected = 0;
  private readonly cut: RowSeries[] = [];
  /** A series of the current point that has been added to a row; undefined until there is one. */
  private kept: number | undefined;
  private droppedSamples = 0;
  private exemplarCount = 0;
  /** Number of samples rejected because the request exceeded a bound. */
  private beyond = 0;
  /** The current resource. */
  private target: Target | InvalidSeriesError | undefined;
  private firstMs = Infinity;
  private lastMs = -Infinity;
  /** The current metric. `refusal` is the reason why its points are rejected; undefined if they are accepted. */
  private current!: KnownMetric;
  private refusal: string | undefined;
  private hasPoints = false;

  constructor(dictionary: SeriesDictionary, { nowMs, maxAgeMs }: AcceptedTimes) {
    this.known = dictionary.tables(PointSeries);
    this.rows = new RequestRows(dictionary);
    this.maxAgeMs = maxAgeMs;
    this.oldestMs = nowMs - maxAgeMs;
    this.newestMs = nowMs + MAX_AHEAD_MS;
  }

  resource(attributes: Encoded, decode: DecodeAttributes): void {
    this.endResource();
    this.firstMs = Infinity;
    this.lastMs = -Infinity;
    try {
      this.target = this.known.targetOf(attributes, decode);
    } catch (error) {
      if (!(error instanceof InvalidSeriesError)) throw error;
      this.target = error;
    }
  }

  private endResource(): void {
    const { target } = this;
    if (this.lastMs === -Infinity || target === undefined || target instanceof InvalidSeriesError) return;
    if (target.labels.length === 0)
      this.note(
        'the resource has neither service.name nor service.instance.id: series of different senders may be merged',
      );
    if (target.info !== undefined) this.addTargetInfo(target);
  }

  metric(traits: MetricTraits, header: Encoded, decode: DecodeHeader): void {
    this.current = this.known.metricOf(traits, header, decode);
    this.refusal = this.refusalOf(traits);
    this.hasPoints = false;
  }

  private refusalOf({ kind, temporality }: MetricTraits): string | undefined {
    if (this.target instanceof InvalidSeriesError) return `resource: ${this.target.message}`;
    if (kind === 'exponentialHistogram') return 'exponential histograms are not stored: use explicit buckets';
    if ((kind === 'sum' || kind === 'histogram') && temporality !== CUMULATIVE)
      return 'only cumulative temporality is stored: use the deltatocumulative processor';
    return this.current.family === '' ? 'the name has no letter or digit' : undefined;
  }

  numberPoint(attributes: Encoded, timestamp: number, isStale: boolean, low: number, high: number): void {
    if (!this.takesPoint()) return;
    const { droppedSamples } = this;
    if (isStale) this.add(this.current.scope, attributes, timestamp, STALE.low, STALE.high);
    else this.add(this.current.scope, attributes, timestamp, low, high);
    if (this.droppedSamples > droppedSamples) this.rejectPoint(timestamp);
  }

  valuelessPoint(): void {
    if (!this.takesPoint()) return;
    this.rejected++;
    this.droppedSamples++;
    this.note(`${this.current.family}: a point has no value`);
  }

  histogramPoint(point: HistogramPoint): void {
    if (!this.takesPoint()) return;
    const { droppedSamples } = this;
    this.addHistogram(this.current, point);
    if (this.droppedSamples > droppedSamples) this.rejectPoint(point.timestamp);
  }

  summaryPoint(point: SummaryPoint): void {
    if (!this.takesPoint()) return;
    const { droppedSamples } = this;
    this.addSummary(this.current, point);
    if (this.droppedSamples > droppedSamples) this.rejectPoint(point.timestamp);
  }

  private rejectPoint(timestamp: number): void {
    if (this.kept === undefined) this.rejected++;
    else this.cut.push({ timestamp, series: Int32Array.of(this.kept) });
  }

  exponentialPoint(): void {
    this.takesPoint();
  }

  exemplars(count: number): void {
    this.exemplarCount += count;
  }

  /** Returns whether the point can be stored. If not, counts it as rejected. */
  private takesPoint(): boolean {
    const { current, refusal } = this;
    if (!this.hasPoints) {
      this.hasPoints = true;
      if (refusal === undefined) this.metadata.set(current.family, current.metadata);
      else this.note(`${JSON.stringify(current.name.slice(0, 100))}: ${refusal}`);
    }
    this.kept = undefined;
    // Once the request is full, reject whole points. Finding out which of their series are known would take as long as
    // storing them.
    if (refusal === undefined && !this.rows.isFull) return true;
    this.rejected++;
    this.droppedSamples++;
    return false;
  }

  finish() {
    this.endResource();
    const { rows } = this;
    const { sources, samples } = rows.finish(undefined, (row, series) => {
      rows.leaveOutRow(row);
      this.cut.push({ timestamp: row.timestamp, series });
    });
    const late = this.rows.beyond - this.beyond;
    if (this.rows.exceeded !== undefined) this.note(this.rows.exceeded);
    if (this.exemplarCount > 0)
      this.note(`${this.exemplarCount} exemplars were dropped: exemplars are not stored`);
    const dropped: DroppedPoints = {
      rejected: this.rejected,
      cut: this.cut,
      samples: this.droppedSamples + late,
      exemplars: this.exemplarCount,
      reasons: [...this.reasons],
      metadata: [...this.metadata.values()],
    };
    return { sources, samples, dropped };
  }

  private addHistogram(metric: KnownMetric, point: HistogramPoint): void {
    const { count, sumBits, bucketCounts, bounds } = point;
    const { known } = this;
    const name = metric.family;
    if (this.hasTooMany(name, bounds.length, 'buckets')) return;
    if (this.isFlawed(name, flawOfBuckets(point))) return;
    if (sumBits !== undefined) this.addBits(known.memberOf(metric, 'sum'), point, sumBits);
    this.addNumber(known.memberOf(metric, 'count'), point, count);
    let running = 0;
    for (const [i, bound] of bounds.entries()) {
      running += bucketCounts[i] ?? 0;
      this.addNumber(known.memberOf(metric, bound), point, running);
    }
    this.addNumber(known.memberOf(metric, Infinity), point, count);
  }

  private hasTooMany(name: string, count: number, what: string): boolean {
    if (count <= MAX_BUCKETS) return false;
    this.droppedSamples++;
    this.note(`${name}: ${count} ${what}; at most ${MAX_BUCKETS} are allowed`);
    return true;
  }

  private isFlawed(name: string, flaw: string | undefined): boolean {
    if (flaw === undefined) return false;
    this.droppedSamples++;
    this.note(`${name}: ${flaw}`);
    return true;
  }

  private addSummary(metric: KnownMetric, point: SummaryPoint): void {
    const { count, sumBits, quantiles } = point;
    const { known } = this;
    if (this.hasTooMany(metric.family, quantiles.length, 'quantiles')) return;
    if (this.isFlawed(metric.family, flawOfQuantiles(point))) return;
    this.addBits(known.memberOf(metric, 'sum'), point, sumBits);
    this.addNumber(known.memberOf(metric, 'count'), point, count);
    for (const { quantile, bits } of quantiles) this.addBits(known.memberOf(metric, quantile), point, bits);
  }

  private addNumber(scope: Scope, point: HistogramPoint | SummaryPoint, value: number): void {
    scratch.setFloat64(0, value);
    this.addScratch(scope, point);
  }

  private addBits(scope: Scope, point: HistogramPoint | SummaryPoint, bits: bigint): void {
    scratch.setBigUint64(0, bits);
    this.addScratch(scope, point);
  }

  private addScratch(scope: Scope, { attributes, timestamp, isStale }: HistogramPoint | SummaryPoint): void {
    const low = isStale ? STALE.low : scratch.getInt32(4);
    const high = isStale ? STALE.high : scratch.getInt32(0);
    this.add(scope, attributes, timestamp, low, high);
  }

  private add(scope: Scope, attributes: Encoded, timestamp: number, low: number, high: number): void {
    if (timestamp < this.oldestMs || timestamp > this.newestMs) {
      this.droppedSamples++;
      const bound = timestamp < this.oldestMs ? 'tooOld' : 'tooNew';
      this.note(`${scope.name}: time ${timestamp} ms is ${timeBoundText(bound, this.maxAgeMs)}`);
      return;
    }
    const series = this.seriesOf(this.target as Target, scope, attributes);
    if (series === undefined) {
      this.droppedSamples++;
      return;
    }
    if (!this.rows.add(series, timestamp, low, high)) {
      this.droppedSamples++;
      this.beyond++;
      return;
    }
    this.kept = series;
    if (timestamp < this.firstMs) this.firstMs = timestamp;
    if (timestamp > this.lastMs) this.lastMs = timestamp;
  }

  /**
   * Returns the number of a series. Returns undefined when the series is invalid, after noting the reason, or when
   * there is no room for it.
   */
  private seriesOf(target: Target, scope: Scope, attributes: Encoded): number | undefined {
    const mayAdd = !this.rows.isFull;
    try {
      const series = this.known.seriesOf(target, scope, attributes, mayAdd);
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
    const series = this.seriesOf(target, TARGET_INFO, NOTHING);
    if (series === undefined) return;
    const stepMs = Math.max(TARGET_INFO_MS, (this.lastMs - this.firstMs) / MAX_TARGET_INFO);
    for (let at = this.firstMs; at < this.lastMs; at += stepMs)
      this.rows.add(series, Math.floor(at), ONE.low, ONE.high);
    this.rows.add(series, this.lastMs, ONE.low, ONE.high);
  }

  private note(reason: string): void {
    if (this.reasons.size < MAX_REASONS) this.reasons.add(reason);
  }
}

/** Returns why the buckets of a histogram are invalid; undefined if they are valid. A stale point needs no counts. */
function flawOfBuckets({ bucketCounts, bounds, isStale }: HistogramPoint): string | undefined {
  const counts = bucketCounts.length;
  const isCounted = counts === 0 ? bounds.length === 0 || isStale : counts === bounds.length + 1;
  if (!isCounted) return `${counts} buckets for ${bounds.length} bounds`;
  const doAscend = bounds.every((bound, i) => bound < (bounds[i + 1] ?? Infinity));
  return doAscend ? undefined : 'the bounds must ascend, and be numbers below +Inf';
}

/** Returns why the quantiles of a summary are invalid; undefined if they are valid. They may have any order. */
function flawOfQuantiles({ quantiles }: SummaryPoint): string | undefined {
  const outside = quantiles.find(({ quantile }) => !(quantile >= 0 && quantile <= 1));
  if (outside !== undefined) return `the quantile ${outside.quantile} is not between 0 and 1`;
  const isUnique = new Set(quantiles.map(({ quantile }) => quantile)).size === quantiles.length;
  return isUnique ? undefined : 'a quantile occurs twice';
}

/**
 * Builds labels from attributes. If several attributes become the same label, their values are joined by `;`, in
 * the order of the attributes' names.
 */
function attributeLabels(attributes: readonly Attribute[]): [string, string][] {
  const labels = new Map<string, string>();
  const inOrder = [...attributes].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  for (const { label } of inOrder) {
    if (label === undefined) continue;
    const [name, text] = label;
    const earlier = labels.get(name);
    labels.set(name, earlier === undefined ? text : `${earlier};${text}`);
  }
  return [...labels];
}

function makeTarget(id: number, resource: readonly Attribute[], decode: DecodeAttributes): Target {
  const attributes = new Map(resource.map((attribute) => [attribute.name, attribute]));
  const text = (name: string) => attributeText(attributes.get(name)?.value);
  const [namespace, service, instance] = IDENTIFYING.map(text);
  const labels: [string, string][] = [];
  if (service) labels.push(['job', namespace ? `${namespace}/${service}` : service]);
  if (instance) labels.push(['instance', instance]);
  const info = attributeLabels([...attributes.values()].filter(({ name }) => !IDENTIFYING.includes(name)));
  return { id, labels, decode, ...(labels.length > 0 && info.length > 0 && { info }) };
}
