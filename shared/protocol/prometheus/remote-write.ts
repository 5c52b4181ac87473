import type { EncodedSeries } from '../../dictionary/encoded-series';
import { InvalidSeriesError, type SeriesDictionary } from '../../dictionary/series-dictionary';
import { type Labels, labelValue, METRIC_NAME } from '../../model/labels';
import { MAX_AHEAD_MS } from '../../model/placement';
import { MAX_LABEL_BYTES } from '../body-bounds';
import { type OutOfTime, type Protocol, timeBoundText } from '../protocol';
import { RequestRows } from '../request-rows';
import { likelyUnit } from '../timestamp-unit';
import { MessageSeries, References, SymbolSeries } from './series-labels';
import {
  decodeWriteRequest,
  type MetricMetadata,
  type RemoteWriteVersion,
  type SeriesMetadata,
  type WriteRequest,
} from './write-request';

export interface RemoteWriteOptions {
  readonly version: RemoteWriteVersion;
}

/** Parts of a write that were not stored. */
export interface DroppedWrite extends OutOfTime {
  /** Number of samples of series with invalid labels. */
  readonly invalid: number;
  /** Number of samples dropped because the request exceeds a bound. */
  readonly beyond: number;
  /** Version 2: number of series without a sample or histogram. */
  readonly empty: number;
  readonly histograms: number;
  readonly exemplars: number;
  /** The first reasons, each with the name of its series. */
  readonly reasons: readonly string[];
  readonly metadata: readonly MetricMetadata[];
}

/** Maximum number of reasons in a response. Senders log 1,024 bytes of a response. */
const MAX_REASONS = 5;
/** Maximum total size of the labels of unknown series that are decoded for one request, in bytes. */
const MAX_DECODED_BYTES = 2 * MAX_LABEL_BYTES;
/** Number of bytes that an invalid series adds to the total for {@link MAX_DECODED_BYTES}. */
const INVALID_BYTES = 16_384;

/**
 * Prometheus remote write 1.0 and 2.0, already uncompressed. Invalid series and samples outside the accepted
 * times are left out and reported; all others are stored.
 *
 * A series' source is its label `host`, else `job` and `instance`. Start timestamps are ignored.
 *
 * @throws {MalformedBytesError} when the body is not a message of this version
 * @throws {RequestTooLargeError} when the body exceeds a bound of the decoder
 * @see https://prometheus.io/docs/specs/prw/remote_write_spec_2_0/
 */
export const remoteWrite: Protocol<Uint8Array, RemoteWriteOptions, DroppedWrite> = {
  parse(dictionary, body, { nowMs, maxAgeMs }, { version }) {
    const request = decodeWriteRequest(body, version);
    const rows = new RequestRows(dictionary);
    const reasons: string[] = [];
    const note = (reason: string) => {
      if (reasons.length < MAX_REASONS) reasons.push(reason);
    };
    const oldestMs = nowMs - maxAgeMs;
    const newestMs = nowMs + MAX_AHEAD_MS;
    const { samples, bytes } = request;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const recognizer = new Recognizer(dictionary, request, rows, note);
    let invalid = 0;
    let tooOld = 0;
    let tooNew = 0;
    let lastIndex = -1;
    let series: Recognized;
    for (let i = 0; i < samples.count; i++) {
      const index = samples.series[i]!;
      if (index !== lastIndex) series = recognizer.recognize(index);
      lastIndex = index;
      if (series === undefined) invalid++;
      else if (series === 'beyond') rows.leaveOutUnknown();
      else {
        const timestamp = samples.timestamps[i]!;
        if (timestamp < oldestMs || timestamp > newestMs) {
          const bound = timestamp < oldestMs ? 'tooOld' : 'tooNew';
          if (bound === 'tooOld') tooOld++;
          else tooNew++;
          if (reasons.length < MAX_REASONS)
            note(timeReason(dictionary.labelsOf(series), timestamp, timeBoundText(bound, maxAgeMs)));
          continue;
        }
        const at = samples.valuesAt[i]!;
        if (at === -1) rows.add(series, timestamp, 0, 0);
        else rows.add(series, timestamp, view.getInt32(at, true), view.getInt32(at + 4, true));
      }
    }
    const { histograms, exemplars } = request;
    const empty = version === 2 ? request.empty : [];
    for (const index of empty.slice(0, MAX_REASONS)) note(`series ${index}: it has no sample`);
    const metadata = request.version === 1 ? request.metadata : recognizer.metadata();
    const { sources, samples: kept } = rows.finish();
    if (rows.exceeded !== undefined) reasons.unshift(rows.exceeded);
    const { beyond } = rows;
    return {
      sources,
      samples: kept,
      dropped: {
        invalid,
        tooOld,
        tooNew,
        beyond,
        empty: empty.length,
        histograms,
        exemplars,
        reasons,
        metadata,
      },
    };
  },
};

/**
 * The result of the recognizer: the number of a series; undefined when the series is invalid; `'beyond'` when the
 * request has too many unknown series.
 */
type Recognized = number | 'beyond' | undefined;

/** Finds the series of a request among the tenant's known series, and creates new series. */
class Recognizer {
  private readonly messages: MessageSeries;
  private readonly symbols: SymbolSeries;
  private readonly references: References;
  /**
   * For each recognized series, the id of its name plus one; 0 if the series has not been looked up. The array is empty
   * if the request has no metadata by series.
   */
  private readonly names: Uint32Array;
  private bytesLeft = MAX_DECODED_BYTES;

  constructor(
    dictionary: SeriesDictionary,
    private readonly request: WriteRequest,
    private readonly rows: RequestRows,
    private readonly note: (reason: string) => void,
  ) {
    this.messages = dictionary.tables(MessageSeries);
    this.symbols = dictionary.tables(SymbolSeries);
    this.references = new References(request, this.symbols);
    this.names = new Uint32Array(request.seriesMetadata.length === 0 ? 0 : request.labels.length);
  }

  /** Finds or creates a series. If the series is invalid, notes the reason. */
  recognize(index: number): Recognized {
    const labels = this.request.labels[index]!;
    try {
      if (this.request.version === 1)
        return this.series(this.messages, labels.bytes, labels.start, labels.end);
      const end = this.references.read(labels, this.mayAdd);
      if (end === undefined) return 'beyond';
      const { ids, bytes } = this.references;
      const series = this.series(this.symbols, bytes, 0, end);
      if (this.names.length > 0 && series !== 'beyond')
        this.names[index] = 1 + this.symbols.nameIn(ids.subarray(0, end / 4));
      return series;
    } catch (error) {
      if (!(error instanceof InvalidSeriesError)) throw error;
      this.bytesLeft -= INVALID_BYTES;
      this.note(`series ${index}: ${error.message}`);
      return undefined;
    }
  }

  /** Whether unknown series may still be created. */
  private get mayAdd(): boolean {
    return this.bytesLeft > 0 && !this.rows.isFull;
  }

  private series(table: EncodedSeries, bytes: Buffer, start: number, end: number): Recognized {
    const known = table.find(bytes, start, end);
    if (known !== 0) return known;
    if (!this.mayAdd) return 'beyond';
    const made = table.add(bytes, start, end);
    this.bytesLeft -= this.rows.labelBytesOf(made);
    return made;
  }

  /**
   * Returns the metadata of a version 2 request by metric family. Senders send metadata for each series. The name of a
   * series may be the family's name with a suffix.
   */
  metadata(): MetricMetadata[] {
    const byName = new Map<number, SeriesMetadata>();
    for (const metadata of this.request.seriesMetadata) {
      const { series } = metadata;
      // Series without samples have not been looked up yet.
      if (this.names[series] === 0) this.recognize(series);
      const name = this.names[series]!;
      if (name <= 0) continue;
      // If several series of a family have metadata, the last one wins.
      byName.delete(name - 1);
      byName.set(name - 1, metadata);
    }
    const byFamily = new Map<string, MetricMetadata>();
    for (const [name, { type, helpRef, unitRef }] of byName) {
      const family = familyOf(this.symbols.textOf(name), type);
      const help = this.references.textOf(helpRef);
      byFamily.set(family, { family, type, help, unit: this.references.textOf(unitRef) });
    }
    return [...byFamily.values()];
  }
}

function timeReason(labels: Labels, timestamp: number, bound: string): string {
  const name = JSON.stringify((labelValue(labels, METRIC_NAME) ?? '').slice(0, 100));
  const unit = likelyUnit(timestamp);
  const hint = unit === undefined || unit.ms === 1 ? '' : `: it looks like ${unit.name}, not ms`;
  return `series ${name}: timestamp ${timestamp} ms is ${bound}${hint}`;
}

function familyOf(name: string, type: MetricMetadata['type']): string {
  if (type === 'histogram' || type === 'gaugehistogram') return name.replace(/_(bucket|sum|count)$/, '');
  return type === 'summary' ? name.replace(/_(sum|count)$/, '') : name;
}
