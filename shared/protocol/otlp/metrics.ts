import type { Labels } from '../../model/labels';
import type { Encoded } from '../field-range';
import { MAX_LABELS, RequestTooLargeError } from '../protocol';

/** A metric's type, help and unit, by its name in Prometheus. */
export interface OtlpMetadata {
  readonly family: string;
  readonly type: 'gauge' | 'counter' | 'histogram' | 'summary';
  readonly help: string;
  readonly unit: string;
}

/**
 * A reader for the metrics in an OTLP request, independent of the request's encoding. It passes the data points to the
 * sink one at a time. It builds no objects for points and metrics, because these would take most of the time spent on
 * known series.
 *
 * @see
 *   https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/metrics/v1/metrics.proto
 */
export type ReadMetrics = (sink: MetricsSink) => void;

/**
 * Receives a request's parts in order. Encoded arguments are the bytes of attributes or of a metric's header, which are
 * decoded only if they are new. They are valid only during the call, because the reader reuses their buffers. Decoders
 * stay valid.
 */
export interface MetricsSink {
  /** Starts a resource. Its metrics follow. */
  resource(attributes: Encoded, decode: DecodeAttributes): void;
  /** Starts a metric. Its points follow. */
  metric(traits: MetricTraits, header: Encoded, decode: DecodeHeader): void;
  /**
   * @param low lower 32 bits of the value, as an int32; `high` has the upper 32 bits
   */
  numberPoint(attributes: Encoded, timestamp: number, isStale: boolean, low: number, high: number): void;
  /** Takes a number point that has no value and is not stale. OTLP considers it invalid. */
  valuelessPoint(): void;
  histogramPoint(point: HistogramPoint): void;
  summaryPoint(point: SummaryPoint): void;
  /** Counts a point of an exponential histogram. The point is not decoded. */
  exponentialPoint(): void;
  exemplars(count: number): void;
}

/** Properties besides name and unit that decide how a metric is stored. */
export interface MetricTraits {
  readonly kind: MetricKind;
  readonly isMonotonic: boolean;
  readonly temporality: Temporality;
}

export const METRIC_KINDS = ['gauge', 'sum', 'histogram', 'exponentialHistogram', 'summary'] as const;
export type MetricKind = (typeof METRIC_KINDS)[number];

export interface MetricHeader {
  readonly name: string;
  readonly description: string;
  readonly unit: string;
}

export type DecodeHeader = (bytes: Buffer, start: number, end: number) => MetricHeader;

/** @throws {InvalidSeriesError} when attributes are not valid, too many, or nested too deep */
export type DecodeAttributes = (bytes: Uint8Array, start: number, end: number) => readonly Attribute[];

/** Maximum number of attributes of a point or a resource. */
export const MAX_ATTRIBUTES = MAX_LABELS;
/** Maximum nesting depth of attribute values. */
export const MAX_DEPTH = 16;
/** Maximum number of buckets of a histogram, or of quantiles of a summary. */
export const MAX_BUCKETS = 1_024;
/**
 * Maximum number of resources, metrics, points and quantiles in a protobuf request, all taken together. A typical point
 * with its attributes takes 200 bytes of the 4 MB that a body may have. (`jsonOf` in http/http.ts bounds JSON
 * requests.)
 */
export const MAX_OBJECTS = 65_536;

/** Counts a protobuf request's resources, metrics, points and quantiles, and bounds their number. */
export class ObjectCount {
  private count = 0;

  /** @throws {RequestTooLargeError} */
  add(): void {
    if (++this.count > MAX_OBJECTS)
      throw new RequestTooLargeError(
        `the request has more than ${MAX_OBJECTS} resources, metrics and data points: lower the batch size`,
      );
  }
}

export interface Attribute {
  readonly name: string;
  readonly value: AttributeValue;
  /** The label made from the attribute; undefined if the attribute makes no label. */
  readonly label: Labels[number] | undefined;
}

/** An attribute's value. Arrays and maps are JSON text, bytes are base64. An int64 beyond 2^53 is its decimal text. */
export type AttributeValue = string | number | boolean | undefined;

/**
 * Temporality of a metric's points: 0 is unspecified, 1 delta, 2 cumulative. Other numbers belong to later
 * versions of OTLP.
 */
export type Temporality = number;
export const CUMULATIVE = 2;

interface PointBase {
  readonly attributes: Encoded;
  /** Unix time in ms, rounded down. */
  readonly timestamp: number;
  /** Whether the sender had no value to record. If so, every series of the point becomes stale. */
  readonly isStale: boolean;
}

export interface HistogramPoint extends PointBase {
  readonly count: number;
  /** Bits of the sum as float64; undefined when the sender gives no sum. */
  readonly sumBits: bigint | undefined;
  /** Counts of the buckets: one more than there are bounds, or none at all. */
  readonly bucketCounts: readonly number[];
  readonly bounds: readonly number[];
}

export interface SummaryPoint extends PointBase {
  readonly count: number;
  readonly sumBits: bigint;
  readonly quantiles: readonly { readonly quantile: number; readonly bits: bigint }[];
}
