import * as z from 'zod';
import { UNITS } from '../platform/names';

const amount = z.number().min(0);
const count = z.number().int().min(1);
/** Of what AWS bills, by unit; one that is not there was not used. */
const units = z.partialRecord(z.enum(UNITS), amount);

/** Functions that the clock, or a heartbeat, runs when nobody posts. */
export const IDLE_FUNCTIONS = ['ingester', 'flusher', 'archiver', 'recovery', 'operator', 'canary'] as const;

/**
 * What a run of the real pipeline used, as `npm run bench -- units` prints it and {@link forecast} multiplies it. All are sums
 * of the run.
 */
export const measuredUnitsSchema = z.object({
  load: z.object({
    hosts: count,
    /** Of each host, in one group. */
    metrics: count,
    intervalSeconds: count,
    partitions: count,
  }),
  /** The post function, by how many samples a request had; sizes differ. */
  posts: z
    .array(
      z.object({
        samplesPerRequest: count,
        requests: count,
        /** Of records, with their partition keys. */
        streamBytes: amount,
        records: count,
        units,
      }),
    )
    .min(2),
  /** One invocation of each function that has nothing to do. */
  idle: z.record(z.enum(IDLE_FUNCTIONS), z.object({ ms: amount, units })),
  /** What happens to a whole UTC day of samples after the stream, by length of a window, such as `1h`. */
  windows: z.record(
    z.string(),
    z.object({
      samples: count,
      /** Memory of the store with all of them in it, less what it was without. */
      hotBytes: amount,
      ingester: z.object({ invocations: count, units }),
      flusher: z.object({ windows: count, units }),
      /** Of chunks, one a group-window. */
      warmBytes: amount,
      archiver: z.object({ objects: count, units }),
      coldBytes: amount,
      /** What the operator function takes each hour to count the series of so many layouts. */
      sweep: z.object({ layouts: count, units }),
    }),
  ),
  /** A graph: a day of one series. */
  reads: z.object({
    requests: count,
    /** From the warm tier, and from the archive. */
    warm: units,
    cold: units,
  }),
});

export type MeasuredUnits = z.output<typeof measuredUnitsSchema>;
export type Units = z.output<typeof units>;
