import { LRUCache } from 'lru-cache';
import { MalformedBytesError } from '../../model/bytes';
import { type Labels, labelValue, METRIC_NAME } from '../../model/labels';
import { LabelledRows, type LabelledSeries, labelledSeries } from '../labelled-rows';
import { MAX_AHEAD_MS, type Protocol } from '../protocol';
import { InvalidSeriesError, labelsOfSeries, symbolOf } from './series-labels';
import {
  decodeWriteRequest,
  type MetricMetadata,
  type RemoteWriteVersion,
  type WriteRequest,
} from './write-request';

export interface RemoteWriteOptions {
  readonly version: RemoteWriteVersion;
}

/** The samples that were not stored, for the answer. */
export interface DroppedWrite {
  /** Samples of series whose labels are invalid. */
  readonly invalid: number;
  /** Samples older or further ahead than is accepted. */
  readonly outOfRange: number;
  readonly histograms: number;
  readonly exemplars: number;
  /** The first reasons, each naming its series. */
  readonly reasons: readonly string[];
  readonly metadata: readonly MetricMetadata[];
}

/** Reasons that an answer names: senders log 1,024 bytes of it. */
const MAX_REASONS = 5;
/** Bytes of a series' names and values: an item of the catalogue holds a group's. */
export const MAX_SERIES_BYTES = 4_096;

/** Series by the bytes of their labels (version 1), or by their labels' text (version 2). */
const known = new LRUCache<string, LabelledSeries>({
  maxSize: 96_000_000,
  sizeCalculation: (series, key) => key.length + 300 + 40 * series.labels.length,
});

/**
 * Prometheus remote write 1.0 and 2.0, uncompressed. Invalid series and samples out of range are left out and reported;
 * the others are kept.
 *
 * A series' source is its `job` and `instance`. Start timestamps are ignored.
 *
 * @throws {MalformedBytesError} when the body is no message of the version
 * @see https://prometheus.io/docs/specs/prw/remote_write_spec_2_0/
 */
export const remoteWrite: Protocol<Uint8Array, RemoteWriteOptions, DroppedWrite> = {
  parse(body, { nowMs, maxAgeMs }, { version }) {
    const request = decodeWriteRequest(body, version);
    const rows = new LabelledRows();
    const reasons: string[] = [];
    const note = (reason: string) => {
      if (reasons.length < MAX_REASONS) reasons.push(reason);
    };
    const oldestMs = nowMs - maxAgeMs;
    const newestMs = nowMs + MAX_AHEAD_MS;
    const { samples, bytes } = request;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const recognize = recognizer(request, note);
    let invalid = 0;
    let outOfRange = 0;
    let lastIndex = -1;
    let series: LabelledSeries | undefined;
    for (let i = 0; i < samples.count; i++) {
      const index = samples.series[i]!;
      if (index !== lastIndex) series = recognize(index);
      lastIndex = index;
      if (series === undefined) {
        invalid++;
        continue;
      }
      const timestamp = samples.timestamps[i]!;
      if (timestamp < oldestMs || timestamp > newestMs) {
        outOfRange++;
        note(outOfRangeReason(series, timestamp, timestamp < oldestMs));
        continue;
      }
      const at = samples.valuesAt[i]!;
      rows.add(series, timestamp, at === -1 ? 0n : view.getBigUint64(at, true));
    }
    const { histograms, exemplars } = request;
    const metadata = metadataOf(request);
    const dropped = { invalid, outOfRange, histograms, exemplars, reasons, metadata };
    return { sources: rows.finish(), samples: rows.samples, dropped };
  },
};

/** @returns a function that gives a series of the request, or notes why it is invalid and gives undefined */
function recognizer(request: WriteRequest, note: (reason: string) => void) {
  const buffer = Buffer.from(request.bytes.buffer, request.bytes.byteOffset, request.bytes.length);
  return (index: number): LabelledSeries | undefined => {
    const start = request.labels[2 * index]!;
    // References are positions in the request's own symbols, so their bytes mean nothing in the next one.
    const key =
      request.version === 1 && start !== -1
        ? buffer.toString('latin1', start, request.labels[2 * index + 1])
        : undefined;
    const found = key === undefined ? undefined : known.get(key);
    if (found !== undefined) return found;
    try {
      const labels = labelsOfSeries(request, index);
      requireSmall(labels);
      const cacheKey = key ?? JSON.stringify(labels);
      const series = known.get(cacheKey) ?? labelledSeries(labels);
      known.set(cacheKey, series);
      return series;
    } catch (error) {
      if (!(error instanceof InvalidSeriesError || error instanceof MalformedBytesError)) throw error;
      note(`series ${index}: ${error.message}`);
      return undefined;
    }
  };
}

function requireSmall(labels: Labels): void {
  let bytes = 0;
  for (const [name, value] of labels) bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
  if (bytes > MAX_SERIES_BYTES)
    throw new InvalidSeriesError(`labels of ${bytes} bytes, ${MAX_SERIES_BYTES} are allowed`);
}

function outOfRangeReason({ labels }: LabelledSeries, timestamp: number, isOld: boolean): string {
  const name = JSON.stringify((labelValue(labels, METRIC_NAME) ?? '').slice(0, 100));
  return `series ${name}: timestamp ${timestamp} ms is too ${isOld ? 'old' : 'far ahead'}`;
}

/** Metadata by family. Version 2 has it by series, whose name may have a suffix of its family's. */
function metadataOf(request: WriteRequest): readonly MetricMetadata[] {
  if (request.version === 1) return request.metadata.filter(({ family }) => family !== '');
  const byFamily = new Map<string, MetricMetadata>();
  for (const { series, type, helpRef, unitRef } of request.seriesMetadata) {
    try {
      const name = labelValue(labelsOfSeries(request, series), METRIC_NAME)!;
      const family = familyOf(name, type);
      const help = symbolOf(request, helpRef);
      const unit = symbolOf(request, unitRef);
      byFamily.set(family, { family, type, help, unit });
    } catch {
      // The series' samples are refused with a reason; its metadata goes with them.
    }
  }
  return [...byFamily.values()];
}

function familyOf(name: string, type: MetricMetadata['type']): string {
  if (type === 'histogram' || type === 'gaugehistogram') return name.replace(/_(bucket|sum|count)$/, '');
  return type === 'summary' ? name.replace(/_(sum|count)$/, '') : name;
}
