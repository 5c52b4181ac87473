import { encodeWriteRequest } from '../../shared/protocol/prometheus/write-request';
import type { ImportSample } from './import-mapping';

/**
 * Maximum number of samples in one invocation. Each sample may need a row of its own, and a request may have 32,768
 * rows.
 */
const MAX_SAMPLES = 30_000;
/** Maximum body size of one invocation, in bytes. Lambda accepts 6 MB of JSON, in which the body is base64. */
const MAX_BYTES = 3_500_000;
/** Size of a sample without its labels, in bytes. */
const SAMPLE_BYTES = 24;

/** Samples that are sent together, grouped by series. */
export class ImportBatch {
  constructor(private readonly maxSamples = MAX_SAMPLES) {}

  private readonly series = new Map<string, ImportSample[]>();
  private bytes = 0;
  samples = 0;

  get isFull(): boolean {
    return this.samples >= this.maxSamples || this.bytes >= MAX_BYTES;
  }

  /** @param key {@link seriesKey} of the sample's labels */
  add(key: string, sample: ImportSample): void {
    const known = this.series.get(key);
    if (known === undefined) {
      this.series.set(key, [sample]);
      this.bytes += Buffer.byteLength(key);
    } else known.push(sample);
    this.samples++;
    this.bytes += SAMPLE_BYTES;
  }

  /** Encodes the batch as a `prometheus.WriteRequest`. */
  encode(): Uint8Array {
    return encodeWriteRequest(
      [...this.series.values()].map((samples) => ({
        labels: Object.entries(samples[0]!.labels),
        timestamps: Float64Array.from(samples, ({ timestamp }) => timestamp),
        values: Float64Array.from(samples, ({ value }) => value),
      })),
    );
  }
}

/** Returns a key for labels, which is the same in whatever order the labels are given. */
export function seriesKey(labels: ImportSample['labels']): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}
