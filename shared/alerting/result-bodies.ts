import type { SampleColumns } from '../model/sample-columns';
import { encodeWriteRequest } from '../protocol/prometheus/write-request';

/** Maximum number of samples in a body, unless a single series has more. Imports use the same bound. */
const MAX_BODY_SAMPLES = 30_000;

/** Encodes the results of rules as remote-write bodies, each small enough for one request. */
export function bodiesOf(series: readonly SampleColumns[]): Uint8Array[] {
  const bodies: SampleColumns[][] = [];
  let samples = Infinity;
  for (const each of series) {
    samples += each.timestamps.length;
    if (samples > MAX_BODY_SAMPLES) {
      bodies.push([]);
      samples = each.timestamps.length;
    }
    bodies.at(-1)!.push(each);
  }
  return bodies.map(encodeWriteRequest);
}
