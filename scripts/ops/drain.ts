import type { FlushResult } from '../../functions/flusher/handler';
import type { Functions } from './invoke';
import { OperatorError } from './invoke';

export interface DrainResult {
  readonly windows: number;
  readonly samples: number;
  readonly bytes: number;
}

/** How often in a row a slice may move nothing before the command gives up; leases of others expire meanwhile. */
const MAX_IDLE_SLICES = 90;
const IDLE_MS = 2_000;

/** A host whose partition alone is drained. */
export interface DrainedHost {
  readonly tenant: string;
  readonly id: string;
}

/** Flushes everything that is hot now, or all of one host's partition, slice by slice. */
export async function drain(
  functions: Functions,
  progress: (line: string) => void,
  host?: DrainedHost,
): Promise<DrainResult> {
  let before: number | undefined;
  let windows = 0;
  let samples = 0;
  let bytes = 0;
  for (let idle = 0; ; ) {
    const slice: FlushResult = await functions.invoke('flusher', { drain: true, before, host });
    before = slice.before;
    windows += slice.windows;
    samples += slice.samples;
    bytes += slice.bytes;
    if (slice.remaining === 0) return { windows, samples, bytes };
    progress(`${windows} group-windows moved, ${slice.remaining} remain`);
    idle = slice.windows === 0 ? idle + 1 : 0;
    if (idle === MAX_IDLE_SLICES)
      throw new OperatorError(`${slice.remaining} group-windows do not move; the flusher's log says why`);
    if (slice.windows === 0) await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  }
}
