import { ByteWriter } from '../../shared/model/bytes';
import type { ImportSample } from './import-mapping';

/** Most samples of one invocation. Each may need a row of its own, and post allows 32,768 rows. */
const MAX_SAMPLES = 30_000;
/** Most bytes of one invocation. Lambda accepts 6 MB of JSON, in which the body is base64. */
const MAX_BYTES = 3_500_000;
/** Bytes of a sample besides its labels. */
const SAMPLE_BYTES = 24;

/** Samples that are sent together, grouped by series. */
export class ImportBatch {
  constructor(private readonly maxSamples = MAX_SAMPLES) {}

  private readonly series = new Map<
    string,
    { readonly labels: Uint8Array; readonly samples: ImportSample[] }
  >();
  private bytes = 0;
  samples = 0;

  get isFull(): boolean {
    return this.samples >= this.maxSamples || this.bytes >= MAX_BYTES;
  }

  /** @param key {@link seriesKey} of the sample's labels */
  add(key: string, sample: ImportSample): void {
    let series = this.series.get(key);
    if (series === undefined) {
      series = { labels: encodeLabels(sample.labels), samples: [] };
      this.series.set(key, series);
      this.bytes += series.labels.length;
    }
    series.samples.push(sample);
    this.samples++;
    this.bytes += SAMPLE_BYTES;
  }

  /** Encodes the batch as a `prometheus.WriteRequest`. */
  encode(): Uint8Array {
    const body = new ByteWriter(this.bytes + 1024);
    for (const { labels, samples } of this.series.values()) {
      const series = new ByteWriter(labels.length + SAMPLE_BYTES * samples.length).bytes(labels);
      for (const { timestamp, value } of samples) {
        const sample = new ByteWriter(SAMPLE_BYTES)
          .byte(0x09)
          .bytes(new Uint8Array(Float64Array.of(value).buffer))
          .byte(0x10)
          .uvarint(timestamp)
          .finish();
        series.byte(0x12).uvarint(sample.length).bytes(sample);
      }
      const bytes = series.finish();
      body.byte(0x0a).uvarint(bytes.length).bytes(bytes);
    }
    return body.finish();
  }
}

/** Returns a key that is equal for equal labels in any order. */
export function seriesKey(labels: ImportSample['labels']): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function encodeLabels(labels: ImportSample['labels']): Uint8Array {
  const writer = new ByteWriter(256);
  for (const [name, value] of Object.entries(labels)) {
    const label = new ByteWriter(64).byte(0x0a).text(name).byte(0x12).text(value).finish();
    writer.byte(0x0a).uvarint(label.length).bytes(label);
  }
  return writer.finish();
}
