import { ByteWriter, MalformedBytesError } from '../../model/bytes';
import { InvalidSeriesError } from '../labelled-rows';
import { BYTES, VARINT, WireReader } from '../wire';
import {
  type Attribute,
  type Attributes,
  type AttributeValue,
  type HistogramPoint,
  MAX_ATTRIBUTES,
  MAX_DEPTH,
  type Metric,
  type NumberPoint,
  ObjectCount,
  type ResourceMetrics,
  type SummaryPoint,
} from './metrics';

/**
 * Decodes an ExportMetricsServiceRequest. Fields come in any order, and senders do differ.
 *
 * @throws {MalformedBytesError} when bytes are cut off or of a wrong wire type
 * @throws {RequestTooLargeError}
 */
export function decodeMetrics(bytes: Uint8Array): ResourceMetrics[] {
  return new MetricsReader(bytes).request();
}

const KINDS = { 5: 'gauge', 7: 'sum', 9: 'histogram', 10: 'exponentialHistogram', 11: 'summary' } as const;
type Kind = (typeof KINDS)[keyof typeof KINDS];

class MetricsReader {
  private readonly reader: WireReader;
  private readonly objects = new ObjectCount();
  private readonly range = new AttributeRange();
  /** Of the resource at hand. */
  private exemplars = 0;

  constructor(bytes: Uint8Array) {
    this.reader = new WireReader(bytes);
  }

  request(): ResourceMetrics[] {
    const { reader } = this;
    const resources: ResourceMetrics[] = [];
    while (reader.next()) {
      if (reader.field === 1) resources.push(reader.message(() => this.resourceMetrics()));
      else reader.skip();
    }
    return resources;
  }

  private resourceMetrics(): ResourceMetrics {
    const { reader } = this;
    this.objects.add();
    const attributes = new AttributeRange();
    const metrics: Metric[] = [];
    this.exemplars = 0;
    const resource = () => {
      for (let start = reader.at; reader.next(); start = reader.at)
        if (reader.field === 1) attributes.add(reader, start);
        else reader.skip();
    };
    const scope = () => {
      while (reader.next())
        if (reader.field === 2) metrics.push(reader.message(() => this.metric()));
        else reader.skip();
    };
    while (reader.next()) {
      if (reader.field === 1) reader.message(resource);
      else if (reader.field === 2) reader.message(scope);
      else reader.skip();
    }
    const { exemplars } = this;
    return { resource: attributes.take(reader), metrics, exemplars, decode: decodeAttributes };
  }

  private metric(): Metric {
    const { reader } = this;
    this.objects.add();
    const texts = { name: '', description: '', unit: '' };
    let data: object = { kind: 'none' };
    while (reader.next()) {
      if (reader.field === 1) texts.name = reader.text();
      else if (reader.field === 2) texts.description = reader.text();
      else if (reader.field === 3) texts.unit = reader.text();
      else if (reader.field in KINDS) {
        const kind = KINDS[reader.field as keyof typeof KINDS];
        data = reader.message(() => this.data(kind));
      } else reader.skip();
    }
    return { ...texts, ...data } as Metric;
  }

  private data(kind: Kind): object {
    const { reader } = this;
    const points: object[] = [];
    let temporality = 0;
    let isMonotonic = false;
    let pointCount = 0;
    const point = this.points[kind];
    while (reader.next()) {
      if (reader.field === 1) {
        pointCount++;
        if (point === undefined) reader.skipBytes();
        else {
          this.objects.add();
          points.push(reader.message(point));
        }
      } else if (reader.field === 2 && kind !== 'gauge' && kind !== 'summary')
        temporality = readInteger(reader);
      else if (reader.field === 3 && kind === 'sum') isMonotonic = readInteger(reader) !== 0;
      else reader.skip();
    }
    return { kind, points, temporality, isMonotonic, pointCount };
  }

  private readonly points: Readonly<Record<Kind, (() => object) | undefined>> = {
    gauge: () => this.numberPoint(),
    sum: () => this.numberPoint(),
    histogram: () => this.histogramPoint(),
    exponentialHistogram: undefined,
    summary: () => this.summaryPoint(),
  };

  private numberPoint(): NumberPoint {
    const { reader, range } = this;
    let timestamp = 0;
    let flags = 0;
    let bits = 0n;
    for (let start = reader.at; reader.next(); start = reader.at) {
      if (reader.field === 7) range.add(reader, start);
      else if (reader.field === 3) timestamp = readMs(reader);
      else if (reader.field === 4) bits = readBits(reader);
      else if (reader.field === 5) this.skipExemplar();
      else if (reader.field === 6) bits = bitsOfNumber(readInt64(reader));
      else if (reader.field === 8) flags = readInteger(reader);
      else reader.skip();
    }
    return { attributes: range.take(reader), timestamp, bits, isStale: flags % 2 === 1 };
  }

  private histogramPoint(): HistogramPoint {
    const { reader, range } = this;
    const bucketCounts: number[] = [];
    const bounds: number[] = [];
    let timestamp = 0;
    let flags = 0;
    let count = 0;
    let sumBits: bigint | undefined;
    for (let start = reader.at; reader.next(); start = reader.at) {
      if (reader.field === 9) range.add(reader, start);
      else if (reader.field === 3) timestamp = readMs(reader);
      else if (reader.field === 4) count = Number(readBits(reader));
      else if (reader.field === 5) sumBits = readBits(reader);
      else if (reader.field === 6) readFixed64s(reader, (bits) => bucketCounts.push(Number(bits)));
      else if (reader.field === 7) readFixed64s(reader, (bits) => bounds.push(numberOfBits(bits)));
      else if (reader.field === 8) this.skipExemplar();
      else if (reader.field === 10) flags = readInteger(reader);
      else reader.skip();
    }
    const point = { attributes: range.take(reader), timestamp, isStale: flags % 2 === 1 };
    return { ...point, count, sumBits, bucketCounts, bounds };
  }

  private skipExemplar(): void {
    this.reader.skipBytes();
    this.exemplars++;
  }

  private summaryPoint(): SummaryPoint {
    const { reader, range } = this;
    const quantiles: SummaryPoint['quantiles'][number][] = [];
    let timestamp = 0;
    let flags = 0;
    let count = 0;
    let sumBits = 0n;
    for (let start = reader.at; reader.next(); start = reader.at) {
      if (reader.field === 7) range.add(reader, start);
      else if (reader.field === 3) timestamp = readMs(reader);
      else if (reader.field === 4) count = Number(readBits(reader));
      else if (reader.field === 5) sumBits = readBits(reader);
      else if (reader.field === 6) {
        this.objects.add();
        quantiles.push(reader.message(quantileValue));
      } else if (reader.field === 8) flags = readInteger(reader);
      else reader.skip();
    }
    const point = { attributes: range.take(reader), timestamp, isStale: flags % 2 === 1 };
    return { ...point, count, sumBits, quantiles };
  }
}

/** Where attributes lie in a body, their tags included: together, but for senders that nobody has seen yet. */
class AttributeRange {
  private start = 0;
  private end = 0;
  private parts: Buffer[] = [];

  /** Adds the attribute whose tag, just read, began at `start`. */
  add(reader: WireReader, start: number): void {
    reader.skipBytes();
    if (this.end === this.start) this.start = start;
    else if (this.end !== start) {
      this.parts.push(reader.buffer.subarray(this.start, this.end));
      this.start = start;
    }
    this.end = reader.at;
  }

  /** Returns what was added, and begins anew. */
  take({ bytes }: WireReader): Attributes {
    const { start, end, parts } = this;
    this.start = this.end = 0;
    if (parts.length === 0) return { bytes, start, end };
    this.parts = [];
    const joined = Buffer.concat([...parts, bytes.subarray(start, end)]);
    return { bytes: joined, start: 0, end: joined.length };
  }
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

function decodeAttributes(bytes: Uint8Array, start: number, end: number): Attribute[] {
  const attributes: Attribute[] = [];
  const reader = new WireReader(bytes);
  reader.at = start;
  reader.end = end;
  try {
    while (reader.next()) {
      if (attributes.length === MAX_ATTRIBUTES)
        throw new InvalidSeriesError(`more than ${MAX_ATTRIBUTES} attributes`);
      const [name, value] = reader.message((each) => keyValue(each, 1));
      attributes.push([name, typeof value === 'object' ? JSON.stringify(value) : value]);
    }
  } catch (error) {
    if (error instanceof MalformedBytesError) throw new InvalidSeriesError(error.message, { cause: error });
    throw error;
  }
  return attributes;
}

type AnyValue = AttributeValue | readonly AnyValue[] | { readonly [key: string]: AnyValue };

/** @param depth of the value */
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
    else if (reader.field === 3) value = readInteger(reader);
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

/** The values of an ArrayValue or KeyValueList: a message of one repeated field. */
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

/** ms of a fixed64 of ns, cut. */
function readMs(reader: WireReader): number {
  const { buffer } = reader;
  const at = reader.fixed64At();
  const high = buffer.readUInt32LE(at + 4);
  // 2^32 ns are 4294 ms and 967,296 ns; every product is below 2^53.
  return high * 4294 + Math.floor((high * 967_296 + buffer.readUInt32LE(at)) / 1_000_000);
}

/** An sfixed64, rounded where it exceeds 53 bits. */
function readInt64(reader: WireReader): number {
  const at = reader.fixed64At();
  return reader.buffer.readInt32LE(at + 4) * 2 ** 32 + reader.buffer.readUInt32LE(at);
}

function readBits(reader: WireReader): bigint {
  return reader.buffer.readBigUInt64LE(reader.fixed64At());
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
  for (let at = start; at < reader.at; at += 8) take(reader.buffer.readBigUInt64LE(at));
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

/** Encodes an ExportMetricsServiceResponse; of a whole success it is empty. */
export function encodePartialSuccess(rejectedPoints: number, message: string): Uint8Array {
  if (rejectedPoints === 0 && message === '') return new Uint8Array(0);
  const success = new ByteWriter();
  if (rejectedPoints > 0) success.byte(0x08).uvarint(rejectedPoints);
  if (message !== '') success.byte(0x12).text(message);
  const bytes = success.finish();
  return new ByteWriter().byte(0x0a).uvarint(bytes.length).bytes(bytes).finish();
}
