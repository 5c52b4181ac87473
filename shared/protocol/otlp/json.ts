import { InvalidSeriesError } from '../../dictionary/series-dictionary';
import { showValue } from '../../model/shown-value';
import type { Encoded } from '../field-range';
import {
  type Attribute,
  type AttributeValue,
  type HistogramPoint,
  MAX_ATTRIBUTES,
  MAX_DEPTH,
  type MetricHeader,
  type MetricsSink,
  type MetricTraits,
  type ReadMetrics,
  type SummaryPoint,
} from './metrics';
import { bitsOfNumber } from './protobuf';
import { attributeOf, integerValue } from './translate';

/** The JSON is not an ExportMetricsServiceRequest. The message names the invalid field. */
export class InvalidMetricsJsonError extends Error {
  override readonly name = 'InvalidMetricsJsonError';
}

type Json = Readonly<Record<string, unknown>>;

/**
 * Reads an ExportMetricsServiceRequest in its JSON mapping: names in lowerCamelCase, enums as integers, 64-bit integers
 * as strings or numbers, and `"NaN"`, `"Infinity"` and `"-Infinity"` as strings. Unknown names are ignored. An unpaired
 * surrogate, which JSON can write as `\ud83d`, becomes U+FFFD: layouts hold UTF-8, which cannot represent it.
 *
 * @returns a reader that throws InvalidMetricsJsonError
 * @see https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
 */
export function readMetricsJson(body: unknown): ReadMetrics {
  return (sink) => {
    for (const resourceMetrics of list(object(body, 'body'), 'resourceMetrics')) {
      sink.resource(attributesOf(object(resourceMetrics.resource ?? {}, 'resource')), decodeAttributes);
      for (const scope of list(resourceMetrics, 'scopeMetrics'))
        for (const json of list(scope, 'metrics')) {
          readMetric(json, sink);
          sink.exemplars(exemplarsOf(json));
        }
    }
  };
}

function exemplarsOf({ gauge, sum, histogram }: Json): number {
  const { dataPoints } = (gauge ?? sum ?? histogram ?? {}) as Json;
  if (!Array.isArray(dataPoints)) return 0;
  return (dataPoints as Json[]).reduce((count, { exemplars }) => {
    return count + (Array.isArray(exemplars) ? exemplars.length : 0);
  }, 0);
}

type ReadPoint = (json: Json, sink: MetricsSink) => void;

const POINTS: readonly (readonly [MetricTraits['kind'], ReadPoint])[] = [
  ['gauge', readNumberPoint],
  ['sum', readNumberPoint],
  ['histogram', (json, sink) => sink.histogramPoint(histogramPoint(json))],
  ['summary', (json, sink) => sink.summaryPoint(summaryPoint(json))],
  ['exponentialHistogram', (_, sink) => sink.exponentialPoint()],
];

function readMetric(json: Json, sink: MetricsSink): void {
  const texts = [text(json, 'name'), text(json, 'description'), text(json, 'unit')];
  const [found, other] = POINTS.filter(([kind]) => json[kind] !== undefined && json[kind] !== null);
  if (found === undefined) return;
  if (other !== undefined) throw new InvalidMetricsJsonError(`a metric has both ${found[0]} and ${other[0]}`);
  const [kind, readPoint] = found;
  const data = object(json[kind], kind);
  const traits = {
    kind,
    isMonotonic: kind === 'sum' && data.isMonotonic === true,
    temporality: kind === 'sum' || kind === 'histogram' ? integer(data, 'aggregationTemporality') : 0,
  };
  sink.metric(traits, bytesOfJson(JSON.stringify(texts)), decodeHeader);
  for (const point of list(data, 'dataPoints')) readPoint(point, sink);
}

function decodeHeader(bytes: Buffer, start: number, end: number): MetricHeader {
  const [name, description, unit] = JSON.parse(bytes.toString('utf8', start, end)) as [
    string,
    string,
    string,
  ];
  return { name, description, unit };
}

function bytesOfJson(json: string): Encoded {
  const bytes = Buffer.from(json);
  return { bytes, start: 0, end: bytes.length };
}

function pointBase(json: Json) {
  return {
    attributes: attributesOf(json),
    timestamp: Number(integer64(json, 'timeUnixNano') / 1_000_000n),
    isStale: integer(json, 'flags') % 2 === 1,
  };
}

function readNumberPoint(json: Json, sink: MetricsSink): void {
  const given =
    json.asInt === undefined || json.asInt === null
      ? bitsOf(json, 'asDouble')
      : bitsOfNumber(Number(integer64(json, 'asInt')));
  const { attributes, timestamp, isStale } = pointBase(json);
  if (given === undefined && !isStale) {
    sink.valuelessPoint();
    return;
  }
  const bits = given ?? 0n;
  const [low, high] = [bits, bits >> 32n].map((half) => Number(BigInt.asIntN(32, half)));
  sink.numberPoint(attributes, timestamp, isStale, low!, high!);
}

function histogramPoint(json: Json): HistogramPoint {
  return {
    ...pointBase(json),
    count: Number(integer64(json, 'count')),
    sumBits: bitsOf(json, 'sum'),
    bucketCounts: values(json, 'bucketCounts').map((value) => Number(asInteger(value, 'bucketCounts'))),
    bounds: values(json, 'explicitBounds').map((value) => asDouble(value, 'explicitBounds')),
  };
}

function summaryPoint(json: Json): SummaryPoint {
  return {
    ...pointBase(json),
    count: Number(integer64(json, 'count')),
    sumBits: bitsOf(json, 'sum') ?? 0n,
    quantiles: list(json, 'quantileValues').map((value) => ({
      quantile: asDouble(value.quantile ?? 0, 'quantile'),
      bits: bitsOf(value, 'value') ?? 0n,
    })),
  };
}

function attributesOf(json: Json): Encoded {
  const attributes = list(json, 'attributes');
  try {
    return bytesOfJson(attributes.length === 0 ? '' : JSON.stringify(attributes));
  } catch (cause) {
    // Writing JSON is recursive, so even a value that could be parsed may be nested too deep for the stack.
    throw new InvalidMetricsJsonError('attributes: nested too deep', { cause });
  }
}

function decodeAttributes(bytes: Uint8Array, start: number, end: number): Attribute[] {
  if (start === end) return [];
  const attributes = JSON.parse(Buffer.from(bytes.subarray(start, end)).toString()) as Json[];
  if (attributes.length > MAX_ATTRIBUTES)
    throw new InvalidSeriesError(`more than ${MAX_ATTRIBUTES} attributes`);
  try {
    return attributes.map((pair) => attributeOf(text(pair, 'key'), attributeValue(pair.value)));
  } catch (error) {
    if (error instanceof InvalidMetricsJsonError)
      throw new InvalidSeriesError(error.message, { cause: error });
    throw error;
  }
}

type AnyValue = AttributeValue | readonly AnyValue[] | { readonly [key: string]: AnyValue };

function attributeValue(value: unknown): AttributeValue {
  const any = anyValue(value, 1);
  return typeof any === 'object' ? JSON.stringify(any) : any;
}

function anyValue(value: unknown, depth: number): AnyValue {
  if (value === undefined || value === null) return undefined;
  if (depth > MAX_DEPTH) throw new InvalidSeriesError(`an attribute is nested more than ${MAX_DEPTH} deep`);
  const json = object(value, 'value');
  if (typeof json.stringValue === 'string') return json.stringValue.toWellFormed();
  if (typeof json.boolValue === 'boolean') return json.boolValue;
  if (json.intValue !== undefined) return integerValue(asExactInteger(json.intValue, 'intValue'));
  if (json.doubleValue !== undefined) return asDouble(json.doubleValue, 'doubleValue');
  if (typeof json.bytesValue === 'string') return json.bytesValue.toWellFormed();
  if (json.arrayValue !== undefined)
    return values(object(json.arrayValue, 'arrayValue'), 'values').map((each) => anyValue(each, depth + 1));
  if (json.kvlistValue !== undefined)
    return Object.fromEntries(
      list(object(json.kvlistValue, 'kvlistValue'), 'values').map((pair) => [
        text(pair, 'key'),
        anyValue(pair.value, depth + 1),
      ]),
    );
  return undefined;
}

function object(value: unknown, field: string): Json {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json;
  throw invalid(field, 'an object', value);
}

function list(json: Json, field: string): Json[] {
  return values(json, field).map((value) => object(value, field));
}

function values(json: Json, field: string): readonly unknown[] {
  const value = json[field] ?? [];
  if (Array.isArray(value)) return value;
  throw invalid(field, 'an array', value);
}

function text(json: Json, field: string): string {
  const value = json[field] ?? '';
  if (typeof value === 'string') return value.toWellFormed();
  throw invalid(field, 'text', value);
}

function integer(json: Json, field: string): number {
  return Number(integer64(json, field));
}

function integer64(json: Json, field: string): bigint {
  return asInteger(json[field] ?? 0, field);
}

function asInteger(value: unknown, field: string): bigint {
  if (typeof value === 'number' && Number.isInteger(value)) return BigInt(value);
  if (typeof value === 'string' && /^-?\d{1,20}$/.test(value)) return BigInt(value);
  throw invalid(field, 'an integer', value);
}

/** Rejects a number beyond 2^53, because `JSON.parse` may have rounded it. */
function asExactInteger(value: unknown, field: string): bigint {
  const read = asInteger(value, field);
  if (typeof value === 'string' || Number.isSafeInteger(value)) return read;
  throw invalid(field, 'a string for an integer beyond 2^53', value);
}

function bitsOf(json: Json, field: string): bigint | undefined {
  const value = json[field];
  return value === undefined || value === null ? undefined : bitsOfNumber(asDouble(value, field));
}

const DOUBLES: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
};

function asDouble(value: unknown, field: string): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'string') {
    if (Object.hasOwn(DOUBLES, value)) return DOUBLES[value]!;
    if (/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(value)) return Number(value);
  }
  throw invalid(field, 'a number', value);
}

function invalid(field: string, expected: string, value: unknown): InvalidMetricsJsonError {
  return new InvalidMetricsJsonError(`${field}: expected ${expected}, got ${showValue(value)}`);
}
