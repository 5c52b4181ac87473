import { ByteWriter, MalformedBytesError } from '../../model/bytes';
import { BYTES, VARINT, WireReader } from '../wire';
import type {
  Attribute,
  Attributes,
  AttributeValue,
  HistogramPoint,
  Metric,
  NumberPoint,
  ResourceMetrics,
  SummaryPoint,
} from './metrics';

/** Where in the body something lies: pairs of start and end. Fields come in any order, and senders do differ. */
type Ranges = number[];

/** How deep attribute values may be nested. */
export const MAX_DEPTH = 16;

/**
 * Decodes an ExportMetricsServiceRequest.
 *
 * @throws {MalformedBytesError} when bytes are cut off, of a wrong wire type, or nested too deep
 */
export function decodeMetrics(bytes: Uint8Array): ResourceMetrics[] {
  const reader = new WireReader(bytes);
  const resources: ResourceMetrics[] = [];
  while (reader.next()) {
    if (reader.field !== 1) reader.skip();
    else {
      const outerEnd = reader.enter();
      resources.push(decodeResourceMetrics(reader));
      reader.leave(outerEnd);
    }
  }
  return resources;
}

function decodeResourceMetrics(reader: WireReader): ResourceMetrics {
  const attributes: Ranges = [];
  const metrics: Metric[] = [];
  while (reader.next()) {
    const { field } = reader;
    if (field !== 1 && field !== 2) {
      reader.skip();
      continue;
    }
    const outerEnd = reader.enter();
    while (reader.next()) {
      if (field === 1 && reader.field === 1) addRange(reader, attributes);
      else if (field === 2 && reader.field === 2) {
        const scopeEnd = reader.enter();
        metrics.push(decodeMetric(reader));
        reader.leave(scopeEnd);
      } else reader.skip();
    }
    reader.leave(outerEnd);
  }
  return { resource: attributesAt(reader.bytes, attributes), metrics };
}

const KINDS = { 5: 'gauge', 7: 'sum', 9: 'histogram', 10: 'exponentialHistogram', 11: 'summary' } as const;
type Data = Omit<Extract<Metric, object>, 'name' | 'description' | 'unit'>;

function decodeMetric(reader: WireReader): Metric {
  const texts = { name: '', description: '', unit: '' };
  let data: object = { kind: 'none' } satisfies Data;
  while (reader.next()) {
    if (reader.field === 1) texts.name = readText(reader);
    else if (reader.field === 2) texts.description = readText(reader);
    else if (reader.field === 3) texts.unit = readText(reader);
    else if (reader.field in KINDS) {
      const kind = KINDS[reader.field as keyof typeof KINDS];
      const outerEnd = reader.enter();
      data = decodeData(reader, kind);
      reader.leave(outerEnd);
    } else reader.skip();
  }
  return { ...texts, ...data } as Metric;
}

function decodeData(reader: WireReader, kind: (typeof KINDS)[keyof typeof KINDS]): object {
  const points: object[] = [];
  let temporality = 0;
  let isMonotonic = false;
  let pointCount = 0;
  while (reader.next()) {
    if (reader.field === 1 && kind === 'exponentialHistogram') {
      reader.skipBytes();
      pointCount++;
    } else if (reader.field === 1) {
      const outerEnd = reader.enter();
      points.push(POINTS[kind as keyof typeof POINTS](reader));
      reader.leave(outerEnd);
    } else if (reader.field === 2 && kind !== 'gauge' && kind !== 'summary')
      temporality = readInteger(reader);
    else if (reader.field === 3 && kind === 'sum') isMonotonic = readInteger(reader) !== 0;
    else reader.skip();
  }
  if (kind === 'exponentialHistogram') return { kind, pointCount };
  if (kind === 'gauge' || kind === 'summary') return { kind, points };
  return kind === 'sum' ? { kind, temporality, isMonotonic, points } : { kind, temporality, points };
}

const POINTS = { gauge: numberPoint, sum: numberPoint, histogram: histogramPoint, summary: summaryPoint };

function numberPoint(reader: WireReader): NumberPoint {
  const attributes: Ranges = [];
  let timestamp = 0;
  let flags = 0;
  let bits = 0n;
  while (reader.next()) {
    if (reader.field === 7) addRange(reader, attributes);
    else if (reader.field === 3) timestamp = readMs(reader);
    else if (reader.field === 4) bits = readBits(reader);
    else if (reader.field === 6) bits = bitsOfNumber(Number(BigInt.asIntN(64, readBits(reader))));
    else if (reader.field === 8) flags = readInteger(reader);
    else reader.skip();
  }
  return { attributes: attributesAt(reader.bytes, attributes), timestamp, bits, isStale: flags % 2 === 1 };
}

function histogramPoint(reader: WireReader): HistogramPoint {
  const attributes: Ranges = [];
  const bucketCounts: number[] = [];
  const bounds: number[] = [];
  let timestamp = 0;
  let flags = 0;
  let count = 0;
  let sumBits: bigint | undefined;
  while (reader.next()) {
    if (reader.field === 9) addRange(reader, attributes);
    else if (reader.field === 3) timestamp = readMs(reader);
    else if (reader.field === 4) count = Number(readBits(reader));
    else if (reader.field === 5) sumBits = readBits(reader);
    else if (reader.field === 6) readFixed64s(reader, (bits) => bucketCounts.push(Number(bits)));
    else if (reader.field === 7) readFixed64s(reader, (bits) => bounds.push(numberOfBits(bits)));
    else if (reader.field === 10) flags = readInteger(reader);
    else reader.skip();
  }
  const isStale = flags % 2 === 1;
  return {
    attributes: attributesAt(reader.bytes, attributes),
    timestamp,
    isStale,
    count,
    sumBits,
    bucketCounts,
    bounds,
  };
}

function summaryPoint(reader: WireReader): SummaryPoint {
  const attributes: Ranges = [];
  const quantiles: { quantile: number; bits: bigint }[] = [];
  let timestamp = 0;
  let flags = 0;
  let count = 0;
  let sumBits = 0n;
  while (reader.next()) {
    if (reader.field === 7) addRange(reader, attributes);
    else if (reader.field === 3) timestamp = readMs(reader);
    else if (reader.field === 4) count = Number(readBits(reader));
    else if (reader.field === 5) sumBits = readBits(reader);
    else if (reader.field === 6) {
      const outerEnd = reader.enter();
      quantiles.push(quantileValue(reader));
      reader.leave(outerEnd);
    } else if (reader.field === 8) flags = readInteger(reader);
    else reader.skip();
  }
  const isStale = flags % 2 === 1;
  return {
    attributes: attributesAt(reader.bytes, attributes),
    timestamp,
    isStale,
    count,
    sumBits,
    quantiles,
  };
}

function quantileValue(reader: WireReader): SummaryPoint['quantiles'][number] {
  let quantile = 0;
  let bits = 0n;
  while (reader.next()) {
    if (reader.field === 1) quantile = numberOfBits(readBits(reader));
    else if (reader.field === 2) bits = readBits(reader);
    else reader.skip();
  }
  return { quantile, bits };
}

/** Notes where the field just read lies, its tag left out; ranges that touch do not become one, for tags stand between. */
function addRange(reader: WireReader, ranges: Ranges): void {
  const start = reader.skipBytes();
  ranges.push(start, reader.at);
}

function attributesAt(bytes: Uint8Array, ranges: Ranges): Attributes {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  // From the first to the last byte, tags and what else stands between included: mostly nothing else does.
  const key = ranges.length === 0 ? '' : keyOf(buffer, ranges);
  return { key, decode: () => decodeAttributes(bytes, ranges) };
}

/** The attributes' bytes, each after its length, so that no two lists of attributes have the same key. */
function keyOf(buffer: Buffer, ranges: Ranges): string {
  let key = '';
  for (let i = 0; i < ranges.length; i += 2)
    key += `${ranges[i + 1]! - ranges[i]!}:${buffer.toString('latin1', ranges[i], ranges[i + 1])}`;
  return key;
}

function decodeAttributes(bytes: Uint8Array, ranges: Ranges): Attribute[] {
  const attributes: Attribute[] = [];
  const reader = new WireReader(bytes);
  for (let i = 0; i < ranges.length; i += 2) {
    reader.at = ranges[i]!;
    reader.end = ranges[i + 1]!;
    attributes.push(keyValue(reader, 0));
  }
  return attributes;
}

function keyValue(reader: WireReader, depth: number): Attribute {
  let name = '';
  let value: AttributeValue;
  while (reader.next()) {
    if (reader.field === 1) name = readText(reader);
    else if (reader.field === 2) {
      const outerEnd = reader.enter();
      const any = anyValue(reader, depth + 1);
      value = typeof any === 'object' ? JSON.stringify(any) : any;
      reader.leave(outerEnd);
    } else reader.skip();
  }
  return [name, value];
}

type AnyValue = AttributeValue | readonly AnyValue[] | { readonly [key: string]: AnyValue };

function anyValue(reader: WireReader, depth: number): AnyValue {
  if (depth > MAX_DEPTH) throw new MalformedBytesError(`an attribute is nested more than ${MAX_DEPTH} deep`);
  let value: AnyValue;
  while (reader.next()) {
    if (reader.field === 1) value = readText(reader);
    else if (reader.field === 2) value = readInteger(reader) !== 0;
    else if (reader.field === 3) value = readInteger(reader);
    else if (reader.field === 4) value = numberOfBits(readBits(reader));
    else if (reader.field === 5 || reader.field === 6) {
      const read = reader.field === 5 ? arrayValue : mapValue;
      const outerEnd = reader.enter();
      value = read(reader, depth);
      reader.leave(outerEnd);
    } else if (reader.field === 7) {
      const start = reader.skipBytes();
      value = Buffer.from(reader.bytes.subarray(start, reader.at)).toString('base64');
    } else reader.skip();
  }
  return value;
}

function arrayValue(reader: WireReader, depth: number): AnyValue[] {
  const values: AnyValue[] = [];
  while (reader.next()) {
    if (reader.field !== 1) reader.skip();
    else {
      const outerEnd = reader.enter();
      values.push(anyValue(reader, depth + 1));
      reader.leave(outerEnd);
    }
  }
  return values;
}

function mapValue(reader: WireReader, depth: number): { readonly [key: string]: AnyValue } {
  const entries: [string, AnyValue][] = [];
  while (reader.next()) {
    if (reader.field !== 1) reader.skip();
    else {
      const outerEnd = reader.enter();
      entries.push(mapEntry(reader, depth));
      reader.leave(outerEnd);
    }
  }
  return Object.fromEntries(entries);
}

function mapEntry(reader: WireReader, depth: number): [string, AnyValue] {
  let name = '';
  let value: AnyValue;
  while (reader.next()) {
    if (reader.field === 1) name = readText(reader);
    else if (reader.field === 2) {
      const outerEnd = reader.enter();
      value = anyValue(reader, depth + 1);
      reader.leave(outerEnd);
    } else reader.skip();
  }
  return [name, value];
}

function readInteger(reader: WireReader): number {
  reader.expect(VARINT);
  return reader.int64();
}

function readMs(reader: WireReader): number {
  return Number(readBits(reader) / 1_000_000n);
}

function readBits(reader: WireReader): bigint {
  return bitsAt(reader.bytes, reader.fixed64At());
}

/** Packed, or one field each. */
function readFixed64s(reader: WireReader, take: (bits: bigint) => void): void {
  if (reader.type !== BYTES) {
    take(readBits(reader));
    return;
  }
  const start = reader.skipBytes();
  if ((reader.at - start) % 8 !== 0)
    throw new MalformedBytesError(`${reader.at - start} bytes are not whole fixed64s`);
  for (let at = start; at < reader.at; at += 8) take(bitsAt(reader.bytes, at));
}

function bitsAt(bytes: Uint8Array, at: number): bigint {
  return new DataView(bytes.buffer, bytes.byteOffset + at, 8).getBigUint64(0, true);
}

const scratch = new DataView(new ArrayBuffer(8));

/** A float64's bits. */
export function bitsOfNumber(value: number): bigint {
  scratch.setFloat64(0, value);
  return scratch.getBigUint64(0);
}

function numberOfBits(bits: bigint): number {
  scratch.setBigUint64(0, bits);
  return scratch.getFloat64(0);
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function readText(reader: WireReader): string {
  const start = reader.skipBytes();
  try {
    return utf8.decode(reader.bytes.subarray(start, reader.at));
  } catch (cause) {
    throw new MalformedBytesError(`field ${reader.field} at byte ${start} is not UTF-8`, { cause });
  }
}

/** Encodes an ExportMetricsServiceResponse; of a whole success it is empty. */
export function encodePartialSuccess(rejectedPoints: number, message: string): Uint8Array {
  if (rejectedPoints === 0 && message === '') return new Uint8Array(0);
  const success = new ByteWriter();
  if (rejectedPoints > 0) success.byte(0x08).uvarint(rejectedPoints);
  if (message !== '') success.byte(0x12).text(message);
  const bytes = success.finish();
  return new ByteWriter().byte(0x0a).uvarint(bytes.length).bytes(bytes).finish();
}
