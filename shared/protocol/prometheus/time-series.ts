import { ByteWriter } from '../../model/bytes';
import type { Labels } from '../../model/labels';
import { writeInt64, writeMessage } from '../wire';

/** A series and its samples, sorted by time. */
export interface TimeSeries {
  readonly labels: Labels;
  /** Unix time in ms. */
  readonly timestamps: Float64Array;
  /** One value for each timestamp. Values are copied as bits. */
  readonly values: Float64Array;
}

/**
 * Writes the `prometheus.TimeSeries` messages of a `WriteRequest` or a `QueryResult`; both have the same
 * encoding.
 *
 *     WriteRequest 1 timeseries*   TimeSeries 1 labels*, 2 samples*   Label 1 name, 2 value   Sample 1 value, 2 timestamp
 */
export function writeSeries(out: ByteWriter, series: readonly TimeSeries[]): void {
  for (const each of series)
    writeMessage(out, 1, (timeSeries) => {
      writeLabels(timeSeries, each.labels);
      writeSamples(timeSeries, each);
    });
}

/** Writes labels as field 1 of the current message. */
export function writeLabels(out: ByteWriter, labels: Labels): void {
  for (const [name, value] of labels)
    writeMessage(out, 1, (pair) => pair.byte(0x0a).text(name).byte(0x12).text(value));
}

function writeSamples(out: ByteWriter, { timestamps, values }: TimeSeries): void {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const sample = new ByteWriter(32);
  for (let i = 0; i < timestamps.length; i++) {
    sample
      .restart()
      .byte(0x09)
      .bytes(bytes.subarray(8 * i, 8 * i + 8))
      .byte(0x10);
    writeInt64(sample, timestamps[i]!);
    out.byte(0x12).uvarint(sample.length).bytes(sample.finish());
  }
}
