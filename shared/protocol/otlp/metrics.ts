/**
 * Metrics of OTLP as both encodings give them, with data points flattened out of their scopes.
 *
 * @see https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/metrics/v1/metrics.proto
 */
export interface ResourceMetrics {
  readonly resource: Attributes;
  readonly metrics: readonly Metric[];
}

/** Attributes that are decoded when they have not been seen before. */
export interface Attributes {
  /** Equal keys have equal attributes. */
  readonly key: string;
  decode(): readonly Attribute[];
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
