import type { Labels } from '../../model/labels';
import { MAX_LABELS, RequestTooLargeError } from '../protocol';

/**
 * Metrics of OTLP as both encodings give them, with data points flattened out of their scopes: one after the other, since an
 * object for each point and its metric cost most of what a known series did.
 *
 * @see https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/metrics/v1/metrics.proto
 */
export type ReadMetrics = (sink: MetricsSink) => void;

/** Takes what a request has, in its order. What it gets is valid during the call alone, but for decoders. */
export interface MetricsSink {
  /** Begins a resource, whose metrics follow. */
  resource(attributes: Encoded, decode: DecodeAttributes): void;
  /** Begins a metric, whose points follow. */
  metric(traits: MetricTraits, header: Encoded, decode: DecodeHeader): void;
  /** @param low the lower half of the value's bits, as an int32; `high` is the other */
  numberPoint(attributes: Encoded, timestamp: number, isStale: boolean, low: number, high: number): void;
  histogramPoint(point: HistogramPoint): void;
  summaryPoint(point: SummaryPoint): void;
  /** Takes a point of an exponential histogram, which is not decoded. */
  exponentialPoint(): void;
  exemplars(count: number): void;
}

/** What decides how a metric is stored, beside its name and unit. */
export interface MetricTraits {
  readonly kind: MetricKind;
  readonly isMonotonic: boolean;
  readonly temporality: Temporality;
}

export type MetricKind = 'gauge' | 'sum' | 'histogram' | 'exponentialHistogram' | 'summary';

export interface MetricHeader {
  readonly name: string;
  readonly description: string;
  readonly unit: string;
}

export type DecodeHeader = (bytes: Buffer, start: number, end: number) => MetricHeader;

/** Attributes, or a metric's header, in their sender's encoding: they are decoded when they have not been seen before. */
export interface Encoded {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/** @throws {InvalidSeriesError} when attributes are not valid, too many, or nested too deep */
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

export interface Attribute {
  readonly name: string;
  readonly value: AttributeValue;
  /** As a series has it; undefined when it is none. */
  readonly label: Labels[number] | undefined;
}

/** An attribute's value. Arrays and maps are JSON text, bytes base64; an int64 beyond 2^53 is rounded. */
export type AttributeValue = string | number | boolean | undefined;

/** 0 unspecified, 1 delta, 2 cumulative; others are of a later protocol. */
export type Temporality = number;
export const CUMULATIVE = 2;

interface PointBase {
  readonly attributes: Encoded;
  /** ms since epoch, cut. */
  readonly timestamp: number;
  /** The sender had nothing to record: every series of the point is stale. */
  readonly isStale: boolean;
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
