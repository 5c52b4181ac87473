import { InvalidSeriesError } from '../../dictionary/series-dictionary';
import { ByteWriter, MalformedBytesError } from '../../model/bytes';
import { FieldRange } from '../field-range';
import { PairCache } from '../pair-cache';
import { BYTES, VARINT, WireReader } from '../wire';
import {
  type Attribute,
  type AttributeValue,
  type HistogramPoint,
  MAX_ATTRIBUTES,
  MAX_DEPTH,
  type MetricHeader,
  type MetricKind,
  type MetricsSink,
  type MetricTraits,
  ObjectCount,
  type ReadMetrics,
  type SummaryPoint,
} from './metrics';
import { attributeOf, integerValue } from './translate';

/**
 * Decodes an ExportMetricsServiceRequest. Senders order the fields of a message differently, so any order is
 * accepted.
 *
 * @returns a reader that throws MalformedBytesError when bytes are missing or have a wrong wire type, and
 *   RequestTooLargeError when the request exceeds a bound
 */
export function decodeMetrics(bytes: Uint8Array): ReadMetrics {
  return (sink) => new MetricsReader(bytes, sink).request();
}

/** Kinds of metrics by the field number of a Metric. */
const KINDS: readonly (MetricKind | undefined)[] = Object.assign([], {
  5: 'gauge',
  7: 'sum',
  9: 'histogram',
  10: 'exponentialHistogram',
  11: 'summary',
});
/** Traits of the metric kinds without temporality. */
const GAUGE: MetricTraits = { kind: 'gauge', isMonotonic: false, temporality: 0 };
const SUMMARY: MetricTraits = { kind: 'summary', isMonotonic: false, temporality: 0 };

class MetricsReader {
  private readonly reader: WireReader;
  private readonly view: DataView;
  private readonly objects = new ObjectCount();
  private readonly header: FieldRange;
  private readonly attributes: FieldRange;

  constructor(
    bytes: Uint8Array,
    private readonly sink: MetricsSink,
  ) {
    this.reader = new WireReader(bytes);
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.header = new FieldRange(this.reader.buffer);
    this.attributes = new FieldRange(this.reader.buffer);
  }

  request(): void {
    this.each(1, () => this.resourceMetrics());
  }

  /** Reads the messages of a repeated field of the current message, and skips its other fields. */
  private each(field: number, read: () => void): void {
    const { reader } = this;
    while (reader.next())
      if (reader.field === field) reader.message(read);
      else reader.skip();
  }

  /** Reads the metrics in a second pass, because their resource may follow them in the message. */
  private resourceMetrics(): void {
    const { reader, attributes } = this;
    const { at } = reader;
    this.objects.add();
    attributes.clear();
    this.each(1, () => {
      for (let start = reader.at; reader.next(); start = reader.at)
        if (reader.field === 1) attributes.addBytes(reader, start);
        else reader.skip();
    });
    this.sink.resource(attributes.join(), decodeAttributes);
    reader.at = at;
    this.each(2, () => this.scopeMetrics());
  }

  private scopeMetrics(): void {
    this.each(2, () => this.metric());
  }

  private metric(): void {
    const { reader, header, sink } = this;
    this.objects.add();
    header.clear();
    let kind: MetricKind | undefined;
    let dataStart = 0;
    let dataEnd = 0;
    for (let start = reader.at; reader.next(); start = reader.at) {
      if (reader.field <= 3) header.addBytes(reader, start);
      else if (KINDS[reader.field] !== undefined) {
        if (kind !== undefined) throw new MalformedBytesError('protobuf: a metric has its data twice');
        kind = KINDS[reader.field];
        dataStart = reader.skipBytes();
        dataEnd = reader.at;
      } else reader.skip();
    }
    if (kind === undefined) return;
    const { end } = reader;
    reader.at = dataStart;
    reader.end = dataEnd;
    sink.metric(this.traitsOf(kind), header.join(), decodeHeader);
    reader.at = dataStart;
    this.points(kind);
    reader.end = end;
  }

  /** Reads the traits of a metric before its points, although the temporality follows the points in the message. */
  private traitsOf(kind: MetricKind): MetricTraits {
    if (kind === 'gauge') return GAUGE;
    if (kind === 'summary') return SUMMARY;
    const { reader } = this;
    let temporality = 0;
    let isMonotonic = false;
    while (reader.next()) {
      if (reader.field === 2) temporality = readInteger(reader);
      else if (reader.field === 3 && kind === 'sum') isMonotonic = readInteger(reader) !== 0;
      else reader.skip();
    }
    return { kind, isMonotonic, temporality };
  }

  private points(kind: MetricKind): void {
    if (kind === 'exponentialHistogram') {
      this.each(1, () => this.sink.exponentialPoint());
      return;
    }
    this.each(1, () => {
      this.objects.add();
      this.attributes.clear();
      if (kind === 'histogram') this.histogramPoint();
      else if (kind === 'summary') this.summaryPoint();
      else this.numberPoint();
    });
  }

  private numberPoint(): void {
    const { reader, attributes, view } = this;
    let timestamp = 0;
    let flags = 0;
    let hasValue = false;
    let low = 0;
    let high = 0;
    for (let start = reader.at; reader.next(); start = reader.at) {
      if (reader.field === 7) attributes.addBytes(reader, start);
      else if (reader.field === 3) timestamp = this.readMs();
      else if (reader.field === 4) {
        const at = reader.fixed64At();
        hasValue = true;
        low = view.getInt32(at, true);
        high = view.getInt32(at + 4, true);
      } else if (reader.field === 5) this.skipExemplar();
      else if (reader.field === 6) {
        scratch.setFloat64(0, this.readInt64());
        hasValue = true;
        high = scratch.getInt32(0);
        low = scratch.getInt32(4);
      } else if (reader.field === 8) flags = readInteger(reader);
      else reader.skip();
    }
    const isStale = flags % 2 === 1;
    const joined = attributes.join();
    if (hasValue || isStale) this.sink.numberPoint(joined, timestamp, isStale, low, high);
    else this.sink.valuelessPoint();
  }

  private histogramPoint(): void {
    const { reader, attributes } = this;
    const bucketCounts: number[] = [];
    const bounds: number[] = [];
    let timestamp = 0;
    let flags = 0;
    let count = 0;
    let sumBits: bigint | undefined;
    for (let start = reader.at; reader.next(); start = reader.at) {
      if (reader.field === 9) attributes.addBytes(reader, start);
      else if (reader.field === 3) timestamp = this.readMs();
      else if (reader.field === 4) count = Number(readBits(reader));
      else if (reader.field === 5) sumBits = readBits(reader);
      else if (reader.field === 6) readFixed64s(reader, (bits) => bucketCounts.push(Number(bits)));
      else if (reader.field === 7) readFixed64s(reader, (bits) => bounds.push(numberOfBits(bits)));
      else if (reader.field === 8) this.skipExemplar();
      else if (reader.field === 10) flags = readInteger(reader);
      else reader.skip();
    }
    const point: HistogramPoint = {
      attributes: attributes.join(),
      timestamp,
      isStale: flags % 2 === 1,
      count,
      sumBits,
      bucketCounts,
      bounds,
    };
    this.sink.histogramPoint(point);
  }

  private skipExemplar(): void {
    this.reader.skipBytes();
    this.sink.exemplars(1);
  }

  private summaryPoint(): void {
    const { reader, attributes } = this;
    const quantiles: SummaryPoint['quantiles'][number][] = [];
    let timestamp = 0;
    let flags = 0;
    let count = 0;
    let sumBits = 0n;
    for (let start = reader.at; reader.next(); start = reader.at) {
      if (reader.field === 7) attributes.addBytes(reader, start);
      else if (reader.field === 3) timestamp = this.readMs();
      else if (reader.field === 4) count = Number(readBits(reader));
      else if (reader.field === 5) sumBits = readBits(reader);
      else if (reader.field === 6) {
        this.objects.add();
        quantiles.push(reader.message(quantileValue));
      } else if (reader.field === 8) flags = readInteger(reader);
      else reader.skip();
    }
    const base = { attributes: attributes.join(), timestamp, isStale: flags % 2 === 1 };
    this.sink.summaryPoint({ ...base, count, sumBits, quantiles });
  }

  /** Converts a fixed64 of ns to ms, rounding down. */
  private readMs(): number {
    const at = this.reader.fixed64At();
    const high = this.view.getUint32(at + 4, true);
    // 2^32 ns are 4294 ms and 967,296 ns; every product is below 2^53.
    return high * 4294 + Math.floor((high * 967_296 + this.view.getUint32(at, true)) / 1_000_000);
  }

  /** Reads an sfixed64. Values beyond 53 bits are rounded. */
  private readInt64(): number {
    const at = this.reader.fixed64At();
    return this.view.getInt32(at + 4, true) * 2 ** 32 + this.view.getUint32(at, true);
  }
}

/** @throws {MalformedBytesError} */
function decodeHeader(bytes: Buffer, start: number, end: number): MetricHeader {
  const reader = new WireReader(bytes);
  reader.at = start;
  reader.end = end;
  const header = { name: '', description: '', unit: '' };
  while (reader.next()) {
    if (reader.field === 1) header.name = reader.text();
    else if (reader.field === 2) header.description = reader.text();
    else header.unit = reader.text();
  }
  return header;
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

const attributeCache = new PairCache((bytes, start, end) => {
  const reader = new WireReader(bytes);
  reader.at = start;
  reader.end = end;
  const [name, value] = keyValue(reader, 1);
  return attributeOf(name, typeof value === 'object' ? JSON.stringify(value) : value);
});

function decodeAttributes(bytes: Uint8Array, start: number, end: number): Attribute[] {
  const attributes: Attribute[] = [];
  const reader = new WireReader(bytes);
  reader.at = start;
  reader.end = end;
  try {
    while (reader.next()) {
      if (attributes.length === MAX_ATTRIBUTES)
        throw new InvalidSeriesError(`more than ${MAX_ATTRIBUTES} attributes`);
      const first = reader.skipBytes();
      attributes.push(attributeCache.of(bytes, first, reader.at));
    }
  } catch (error) {
    if (error instanceof MalformedBytesError) throw new InvalidSeriesError(error.message, { cause: error });
    throw error;
  }
  return attributes;
}

type AnyValue = AttributeValue | readonly AnyValue[] | { readonly [key: string]: AnyValue };

/**
 * Decodes a `KeyValue` message.
 *
 * @param depth nesting depth of the value
 */
function keyValue(reader: WireReader, depth: number): [string, AnyValue] {
  let name = '';
  let value: AnyValue;
  while (reader.next()) {
    if (reader.field === 1) name = reader.text();
    else if (reader.field === 2) value = reader.message((each) => anyValue(each, depth));
    else reader.skip();
  }
  return [name, value];
}

function anyValue(reader: WireReader, depth: number): AnyValue {
  if (depth > MAX_DEPTH) throw new InvalidSeriesError(`an attribute is nested more than ${MAX_DEPTH} deep`);
  let value: AnyValue;
  while (reader.next()) {
    if (reader.field === 1) value = reader.text();
    else if (reader.field === 2) value = readInteger(reader) !== 0;
    else if (reader.field === 3) value = readIntegerValue(reader);
    else if (reader.field === 4) value = numberOfBits(readBits(reader));
    else if (reader.field === 5) value = elementsOf(reader, (each) => anyValue(each, depth + 1));
    else if (reader.field === 6)
      value = Object.fromEntries(elementsOf(reader, (each) => keyValue(each, depth + 1)));
    else if (reader.field === 7) {
      const start = reader.skipBytes();
      value = reader.buffer.toString('base64', start, reader.at);
    } else reader.skip();
  }
  return value;
}

/** Reads the values of an ArrayValue or KeyValueList, which are messages with one repeated field. */
function elementsOf<T>(list: WireReader, read: (reader: WireReader) => T): T[] {
  return list.message((reader) => {
    const elements: T[] = [];
    while (reader.next()) {
      if (reader.field !== 1) reader.skip();
      else if (elements.length === MAX_ATTRIBUTES)
        throw new InvalidSeriesError(`an attribute has more than ${MAX_ATTRIBUTES} elements`);
      else elements.push(reader.message(read));
    }
    return elements;
  });
}

function readInteger(reader: WireReader): number {
  reader.expect(VARINT);
  return reader.int64();
}

function readIntegerValue(reader: WireReader): AttributeValue {
  const start = reader.at;
  const number = readInteger(reader);
  if (Number.isSafeInteger(number)) return number;
  let bits = 0n;
  for (let at = reader.at - 1; at >= start; at--) bits = (bits << 7n) | BigInt(reader.bytes[at]! & 127);
  return integerValue(BigInt.asIntN(64, bits));
}

function readBits(reader: WireReader): bigint {
  return reader.buffer.readBigUInt64LE(reader.fixed64At());
}

/** Reads a repeated fixed64, packed or not. */
function readFixed64s(reader: WireReader, take: (bits: bigint) => void): void {
  if (reader.type !== BYTES) {
    take(readBits(reader));
    return;
  }
  const start = reader.skipBytes();
  if ((reader.at - start) % 8 !== 0)
    throw new MalformedBytesError(`${reader.at - start} bytes of fixed64 values are not a multiple of 8`);
  for (let at = start; at < reader.at; at += 8) take(reader.buffer.readBigUInt64LE(at));
}

const scratch = new DataView(new ArrayBuffer(8));

export function bitsOfNumber(value: number): bigint {
  scratch.setFloat64(0, value);
  return scratch.getBigUint64(0);
}

function numberOfBits(bits: bigint): number {
  scratch.setBigUint64(0, bits);
  return scratch.getFloat64(0);
}

/** Encodes an ExportMetricsServiceResponse; empty if everything was accepted. */
export function encodePartialSuccess(rejectedPoints: number, message: string): Uint8Array {
  if (rejectedPoints === 0 && message === '') return new Uint8Array(0);
  const success = new ByteWriter();
  if (rejectedPoints > 0) success.byte(0x08).uvarint(rejectedPoints);
  if (message !== '') success.byte(0x12).text(message);
  const bytes = success.finish();
  return new ByteWriter().byte(0x0a).uvarint(bytes.length).bytes(bytes).finish();
}
