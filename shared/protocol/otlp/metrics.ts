import { MAX_LABELS, RequestTooLargeError } from '../protocol';

/**
 * Metrics of OTLP as both encodings give them, with data points flattened out of their scopes.
 *
 * @see https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/metrics/v1/metrics.proto
 */
export interface ResourceMetrics {
  readonly resource: Attributes;
  readonly metrics: readonly Metric[];
  /** Exemplars of the points, which are counted only. */
  readonly exemplars: number;
  /**
   * Decodes attributes of this request.
   *
   * @throws {InvalidSeriesError} when they are not valid, too many, or nested too deep
   */
  readonly decode: DecodeAttributes;
}

/** Attributes in their sender's encoding: they are decoded when they have not been seen before. */
export interface Attributes {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

export type DecodeAttributes = (bytes: Uint8Array, start: number, end: number) => readonly Attribute[];

/** Of a point, or a resource. */
export const MAX_ATTRIBUTES = MAX_LABELS;
/** How deep attribute values may be nested. */
export const MAX_DEPTH = 16;
/** Of a histogram or summary. */
export const MAX_BUCKETS = 1_024;
/** Resources, metrics and points of a request, together: a point with its attributes has some 200 bytes of 4 MB. */
export const MAX_OBJECTS = 65_536;

/** Counts what a request is made of. */
export class ObjectCount {
  private count = 0;

  /** @throws {RequestTooLargeError} */
  add(): void {
    if (++this.count > MAX_OBJECTS)
      throw new RequestTooLargeError(
        `the request has more than ${MAX_OBJECTS} resources, metrics and data points: lower the size of batches`,
      );
  }
}

export type Attribute = readonly [name: string, value: AttributeValue];

/** An attribute's value. Arrays and maps are JSON text, bytes base64; an int64 beyond 2^53 is rounded. */
export type AttributeValue = string | number | boolean | undefined;

interface MetricBase {
  readonly name: string;
  readonly description: string;
  readonly unit: string;
}

export type Metric =
  | (MetricBase & { readonly kind: 'gauge'; readonly points: readonly NumberPoint[] })
  | (MetricBase & {
      readonly kind: 'sum';
      readonly temporality: Temporality;
      readonly isMonotonic: boolean;
      readonly points: readonly NumberPoint[];
    })
  | (MetricBase & {
      readonly kind: 'histogram';
      readonly temporality: Temporality;
      readonly points: readonly HistogramPoint[];
    })
  | (MetricBase & { readonly kind: 'summary'; readonly points: readonly SummaryPoint[] })
  /** Not stored, only counted. */
  | (MetricBase & { readonly kind: 'exponentialHistogram'; readonly pointCount: number })
  /** A metric without data, or of a kind that this release does not know. */
  | (MetricBase & { readonly kind: 'none' });

/** 0 unspecified, 1 delta, 2 cumulative; others are of a later protocol. */
export type Temporality = number;
export const CUMULATIVE = 2;

interface PointBase {
  readonly attributes: Attributes;
  /** ms since epoch, cut. */
  readonly timestamp: number;
  /** The sender had nothing to record: every series of the point is stale. */
  readonly isStale: boolean;
}

export interface NumberPoint extends PointBase {
  /** A float64's bits: a NaN's payload would not survive a JavaScript number. */
  readonly bits: bigint;
}

export interface HistogramPoint extends PointBase {
  readonly count: number;
  /** A float64's bits; undefined when the sender gives no sum. */
  readonly sumBits: bigint | undefined;
  /** One more than the bounds, or none. */
  readonly bucketCounts: readonly number[];
  readonly bounds: readonly number[];
}

export interface SummaryPoint extends PointBase {
  readonly count: number;
  readonly sumBits: bigint;
  readonly quantiles: readonly { readonly quantile: number; readonly bits: bigint }[];
}
