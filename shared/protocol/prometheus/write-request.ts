import { ByteWriter, MalformedBytesError } from '../../model/bytes';
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
  readonly seriesCount: number;
  /**
   * Start and end in `bytes` of each series' labels: Label messages in version 1, references to symbols in version 2.
   * If a series' labels are not contiguous, its start is -1, and its ranges are in `scattered`.
   */
  readonly labels: Int32Array;
  readonly scattered: ReadonlyMap<number, readonly number[]>;
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
  labels = new Int32Array(4096);
  seriesCount = 0;
  readonly scattered = new Map<number, readonly number[]>();
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

  addSeries(): number {
    const index = this.seriesCount++;
    if (index >= MAX_WRITE_REQUEST_SERIES) throw tooMany(MAX_WRITE_REQUEST_SERIES, 'series');
    if (2 * index + 2 > this.labels.length) this.labels = grow(this.labels, Int32Array);
    return index;
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
  const field =
    version === 1 ? { symbols: 0, series: 1, metadata: 3 } : { symbols: 4, series: 5, metadata: 0 };
  let isKnown = bytes.length === 0;
  while (reader.next()) {
    if (reader.field === field.series) {
      const outerEnd = reader.enter();
      decodeSeries(reader, version, columns);
      reader.leave(outerEnd);
    } else if (reader.field === field.symbols) {
      const start = reader.skipBytes();
      columns.addSymbol(start, reader.at);
    } else if (reader.field === field.metadata) {
      const outerEnd = reader.enter();
      if (columns.metadata.length < MAX_METADATA) columns.metadata.push(decodeMetadata(reader));
      reader.leave(outerEnd);
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
  const { sampleCount: count, seriesCount } = columns;
  return {
    version,
    bytes,
    seriesCount,
    labels: columns.labels.subarray(0, 2 * seriesCount),
    scattered: columns.scattered,
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

/** Tag of a Label message (version 1) or of packed references (version 2). */
const LABELS_TAG = 8 + BYTES;

function decodeSeries(reader: WireReader, version: RemoteWriteVersion, columns: Columns): void {
  const fields = SERIES_FIELDS[version];
  const series = columns.addSeries();
  const before = columns.sampleCount + columns.histograms;
  // Range of the label fields, with their tags. The bytes of this range identify a known series.
  let labelsStart = -1;
  let labelsEnd = -1;
  const scattered: number[] = [];
  const first = reader.at;
  reader.skipShort(LABELS_TAG);
  if (reader.at > first) {
    labelsStart = first;
    labelsEnd = reader.at;
  }
  for (let start = reader.at; reader.next(); start = reader.at) {
    if (reader.field === 1) {
      if (version === 2 && reader.type === VARINT) reader.uvarint();
      else reader.skipBytes();
      if (labelsEnd !== start) {
        if (labelsEnd !== -1) scattered.push(labelsStart, labelsEnd);
        labelsStart = start;
      }
      labelsEnd = reader.at;
    } else if (reader.field === fields.samples) {
      const outerEnd = reader.enter();
      decodeSample(reader, series, columns);
      reader.leave(outerEnd);
    } else if (reader.field === fields.exemplars) {
      reader.skipBytes();
      columns.exemplars++;
    } else if (reader.field === fields.histograms) {
      reader.skipBytes();
      columns.histograms++;
    } else if (reader.field === fields.metadata) {
      const outerEnd = reader.enter();
      const metadata = decodeSeriesMetadata(reader, series);
      if (metadata !== undefined && columns.seriesMetadata.length < MAX_METADATA)
        columns.seriesMetadata.push(metadata);
      reader.leave(outerEnd);
    } else reader.skip();
  }
  if (columns.sampleCount + columns.histograms === before) columns.empty.push(series);
  const isTogether = scattered.length === 0;
  columns.labels[2 * series] = isTogether ? labelsStart : -1;
  columns.labels[2 * series + 1] = isTogether ? labelsEnd : -1;
  if (!isTogether) columns.scattered.set(series, [...scattered, labelsStart, labelsEnd]);
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
