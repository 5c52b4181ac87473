import { ByteWriter, MalformedBytesError } from '../../model/bytes';
import { type Encoded, FieldRange } from '../field-range';
import { RequestTooLargeError } from '../protocol';
import { BYTES, VARINT, WireReader } from '../wire';
import { type TimeSeries, writeSeries } from './time-series';

/**
 * Version of remote write. The two versions have different messages. The content type of a body says which version it
 * is.
 */
export type RemoteWriteVersion = 1 | 2;

/**
 * A remote-write request, decoded to positions in `bytes` instead of objects. A request of 2,000 samples has
 * 20,000 labels, nearly all of them the same as in the previous request.
 */
export interface WriteRequest {
  readonly version: RemoteWriteVersion;
  readonly bytes: Uint8Array;
  /** The encoded labels of each series: Label messages in version 1, references to symbols in version 2. */
  readonly labels: readonly Encoded[];
  readonly samples: RequestSamples;
  /** Start and end in `bytes` of each symbol (version 2). */
  readonly symbols: Int32Array;
  /** Version 1: metadata by family. */
  readonly metadata: readonly MetricMetadata[];
  /** Version 2: metadata by series. */
  readonly seriesMetadata: readonly SeriesMetadata[];
  /** Series that have neither a sample nor a histogram, which version 2 forbids. */
  readonly empty: readonly number[];
  /** Numbers of histograms and exemplars, which are not decoded. */
  readonly histograms: number;
  readonly exemplars: number;
}

/** Metadata of a series. Help and unit are references to symbols. */
export interface SeriesMetadata {
  readonly series: number;
  readonly type: MetricType;
  readonly helpRef: number;
  readonly unitRef: number;
}

/** Samples in the order of the request. */
export interface RequestSamples {
  readonly count: number;
  /** Index of each sample's series. */
  readonly series: Int32Array;
  /** Unix time in ms. */
  readonly timestamps: Float64Array;
  /**
   * Index in `bytes` of each value's eight bytes, little-endian; -1 if the value is absent, which means 0.
   */
  readonly valuesAt: Int32Array;
}

/** A metric's type, help and unit, by its family name. */
export interface MetricMetadata {
  readonly family: string;
  readonly type: MetricType;
  readonly help: string;
  readonly unit: string;
}

const METRIC_TYPES = [
  'unknown',
  'counter',
  'gauge',
  'histogram',
  'gaugehistogram',
  'summary',
  'info',
  'stateset',
] as const;
export type MetricType = (typeof METRIC_TYPES)[number];

/** Bounds of a request. For comparison: a typical batch has 2,000 samples, one for each series. */
export const MAX_WRITE_REQUEST_SERIES = 65_536;
export const MAX_WRITE_REQUEST_SAMPLES = 131_072;
const MAX_SYMBOLS = 524_288;
/** Maximum number of metadata entries that are read. Any others are ignored, because senders resend their metadata. */
const MAX_METADATA = 20_000;

/** A request's columns while it is decoded. The arrays grow by doubling. */
class Columns {
  readonly labels: Encoded[] = [];
  sampleCount = 0;
  series = new Int32Array(2048);
  timestamps = new Float64Array(2048);
  valuesAt = new Int32Array(2048);
  symbols = new Int32Array(512);
  symbolCount = 0;
  readonly metadata: MetricMetadata[] = [];
  readonly seriesMetadata: SeriesMetadata[] = [];
  readonly empty: number[] = [];
  histograms = 0;
  exemplars = 0;

  /** Adds the labels of a series, after its samples. */
  addSeries({ bytes, start, end }: Encoded): void {
    if (this.labels.length >= MAX_WRITE_REQUEST_SERIES) throw tooMany(MAX_WRITE_REQUEST_SERIES, 'series');
    this.labels.push({ bytes, start, end });
  }

  addSample(series: number, timestamp: number, valueAt: number): void {
    const index = this.sampleCount++;
    if (index >= MAX_WRITE_REQUEST_SAMPLES) throw tooMany(MAX_WRITE_REQUEST_SAMPLES, 'samples');
    if (index >= this.series.length) {
      this.series = grow(this.series, Int32Array);
      this.timestamps = grow(this.timestamps, Float64Array);
      this.valuesAt = grow(this.valuesAt, Int32Array);
    }
    this.series[index] = series;
    this.timestamps[index] = timestamp;
    this.valuesAt[index] = valueAt;
  }

  addSymbol(start: number, end: number): void {
    if (this.symbolCount >= MAX_SYMBOLS) throw tooMany(MAX_SYMBOLS, 'symbols');
    if (2 * this.symbolCount + 2 > this.symbols.length) this.symbols = grow(this.symbols, Int32Array);
    this.symbols[2 * this.symbolCount] = start;
    this.symbols[2 * this.symbolCount + 1] = end;
    this.symbolCount++;
  }
}

function tooMany(allowed: number, what: string): RequestTooLargeError {
  return new RequestTooLargeError(
    `the request has more than ${allowed} ${what}: lower max_samples_per_send or the batch size`,
  );
}

function grow<T extends Int32Array | Float64Array>(old: T, type: new (length: number) => T): T {
  const larger = new type(old.length * 2);
  larger.set(old);
  return larger;
}

/**
 * Decodes a remote-write message.
 *
 * Fields may come in any order; unknown fields are skipped. The numbers of samples and symbols are bounded,
 * because an empty one takes 2 bytes of the body, but 16 (sample) or 8 bytes (symbol) in the decoded request.
 *
 * @throws {MalformedBytesError} when bytes are missing or have wrong wire types, or when no field belongs to
 *   this version
 * @throws {RequestTooLargeError} for more than {@link MAX_WRITE_REQUEST_SERIES}, {@link MAX_WRITE_REQUEST_SAMPLES} or
 *   {@link MAX_SYMBOLS}
 * @see https://prometheus.io/docs/specs/prw/remote_write_spec_2_0/#protobuf-message
 */
export function decodeWriteRequest(bytes: Uint8Array, version: RemoteWriteVersion): WriteRequest {
  const columns = new Columns();
  const reader = new WireReader(bytes);
  const labels = new FieldRange(reader.buffer);
  const field =
    version === 1 ? { symbols: 0, series: 1, metadata: 3 } : { symbols: 4, series: 5, metadata: 0 };
  let isKnown = bytes.length === 0;
  while (reader.next()) {
    if (reader.field === field.series) {
      reader.message(() => decodeSeries(reader, version, labels, columns));
    } else if (reader.field === field.symbols) {
      const start = reader.skipBytes();
      columns.addSymbol(start, reader.at);
    } else if (reader.field === field.metadata) {
      if (columns.metadata.length === MAX_METADATA) reader.skipBytes();
      else columns.metadata.push(reader.message(decodeMetadata));
    } else {
      reader.skip();
      continue;
    }
    isKnown = true;
  }
  if (!isKnown)
    throw new MalformedBytesError(
      `the body has no field of remote write ${version}.0: its Content-Type may name the other version`,
    );
  const { sampleCount: count } = columns;
  return {
    version,
    bytes,
    labels: columns.labels,
    samples: {
      count,
      series: columns.series.subarray(0, count),
      timestamps: columns.timestamps.subarray(0, count),
      valuesAt: columns.valuesAt.subarray(0, count),
    },
    symbols: columns.symbols.subarray(0, 2 * columns.symbolCount),
    metadata: columns.metadata,
    seriesMetadata: columns.seriesMetadata,
    empty: columns.empty,
    histograms: columns.histograms,
    exemplars: columns.exemplars,
  };
}

/** Encodes series as a `prometheus.WriteRequest` of remote write 1.0. */
export function encodeWriteRequest(series: readonly TimeSeries[]): Uint8Array {
  const out = new ByteWriter(1 << 16);
  writeSeries(out, series);
  return out.finish();
}

/** Field numbers within a TimeSeries. */
const SERIES_FIELDS = {
  1: { samples: 2, exemplars: 3, histograms: 4, metadata: 0 },
  2: { samples: 2, exemplars: 4, histograms: 3, metadata: 5 },
} as const;

/** The tag of a Label message (version 1) and of packed references (version 2). */
const LABELS_TAG = 8 + BYTES;

function decodeSeries(
  reader: WireReader,
  version: RemoteWriteVersion,
  labels: FieldRange,
  columns: Columns,
): void {
  const fields = SERIES_FIELDS[version];
  const series = columns.labels.length;
  const before = columns.sampleCount + columns.histograms;
  // The bytes of the label fields, with their tags, identify a known series.
  labels.clear();
  const first = reader.at;
  reader.skipShort(LABELS_TAG);
  if (reader.at > first) labels.add(first, reader.at);
  for (let start = reader.at; reader.next(); start = reader.at) {
    if (reader.field === 1) {
      if (version === 2 && reader.type === VARINT) reader.uvarint();
      else reader.skipBytes();
      labels.add(start, reader.at);
    } else if (reader.field === fields.samples) {
      reader.message(() => decodeSample(reader, series, columns));
    } else if (reader.field === fields.exemplars) {
      reader.skipBytes();
      columns.exemplars++;
    } else if (reader.field === fields.histograms) {
      reader.skipBytes();
      columns.histograms++;
    } else if (reader.field === fields.metadata) {
      const metadata = reader.message(() => decodeSeriesMetadata(reader, series));
      if (metadata !== undefined && columns.seriesMetadata.length < MAX_METADATA)
        columns.seriesMetadata.push(metadata);
    } else reader.skip();
  }
  if (columns.sampleCount + columns.histograms === before) columns.empty.push(series);
  columns.addSeries(labels.join());
}

function decodeSample(reader: WireReader, series: number, columns: Columns): void {
  let valueAt = -1;
  let timestamp = 0;
  while (reader.next()) {
    if (reader.field === 1) valueAt = reader.fixed64At();
    else if (reader.field === 2) {
      reader.expect(VARINT);
      timestamp = reader.int64();
    } else reader.skip();
  }
  columns.addSample(series, timestamp, valueAt);
}

function decodeMetadata(reader: WireReader): MetricMetadata {
  let type: MetricType = 'unknown';
  const texts = { family: '', help: '', unit: '' };
  while (reader.next()) {
    if (reader.field === 1) type = typeOf(reader);
    else if (reader.field === 2) texts.family = textOf(reader);
    else if (reader.field === 4) texts.help = textOf(reader);
    else if (reader.field === 5) texts.unit = textOf(reader);
    else reader.skip();
  }
  return { type, ...texts };
}

/** Decodes the metadata of a series. Returns undefined when no field is set; senders without metadata set none. */
function decodeSeriesMetadata(reader: WireReader, series: number): SeriesMetadata | undefined {
  let type: MetricType = 'unknown';
  let helpRef = 0;
  let unitRef = 0;
  while (reader.next()) {
    if (reader.field === 1) type = typeOf(reader);
    else if (reader.field === 3) helpRef = reader.uvarint();
    else if (reader.field === 4) unitRef = reader.uvarint();
    else reader.skip();
  }
  return type === 'unknown' && helpRef === 0 && unitRef === 0
    ? undefined
    : { series, type, helpRef, unitRef };
}

/** Reads a metric's type. A type that only later versions define becomes `unknown`. */
function typeOf(reader: WireReader): MetricType {
  reader.expect(VARINT);
  return METRIC_TYPES[reader.uvarint()] ?? 'unknown';
}

/** Reads a metadata text. Invalid UTF-8 becomes replacement characters, since no decision depends on the text. */
function textOf(reader: WireReader): string {
  const start = reader.skipBytes();
  return Buffer.from(reader.bytes.buffer, reader.bytes.byteOffset + start, reader.at - start).toString(
    'utf8',
  );
}
