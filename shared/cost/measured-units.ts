import * as z from 'zod';
import { UNITS } from '../platform/names';

const amount = z.number().min(0);
const count = z.number().int().min(1);
/** Billed units by name; an absent unit was not used. */
export const unitsSchema = z.partialRecord(z.enum(UNITS), amount);

/** Functions that schedules or heartbeats run when nobody posts. */
export const IDLE_FUNCTIONS = [
  'ingester',
  'flusher',
  'archiver',
  'recovery',
  'operator',
  'evaluator',
  'canary',
] as const;

/**
 * The units that a run of the real pipeline used, as `npm run bench -- units` prints them; the forecast multiplies them. All
 * are sums over the run.
 */
export const measuredUnitsSchema = z.object({
  load: z.object({
    hosts: count,
    /** Metrics of each host, in one group. */
    metrics: count,
    intervalSeconds: count,
    partitions: count,
  }),
  /** The post function, with different numbers of samples a request. */
  posts: z
    .array(
      z.object({
        samplesPerRequest: count,
        requests: count,
        /** Bytes of records with their partition keys. */
        streamBytes: amount,
        records: count,
        units: unitsSchema,
      }),
    )
    .min(2),
  /** One invocation of each function with nothing to do. */
  idle: z.record(z.enum(IDLE_FUNCTIONS), z.object({ ms: amount, units: unitsSchema })),
  /** The path of a UTC day of samples after the stream, by length of window, such as `1h`. */
  windows: z.record(
    z.string(),
    z.object({
      samples: count,
      /** Memory of Redis with all samples in it, less that without. */
      hotBytes: amount,
      ingester: z.object({ invocations: count, units: unitsSchema }),
      flusher: z.object({ windows: count, units: unitsSchema }),
      /** Bytes of chunks, one a group-window. */
      warmBytes: amount,
      archiver: z.object({ objects: count, units: unitsSchema }),
      coldBytes: amount,
      /** Rolling a UTC day of all series up. */
      rollups: z.object({
        /** When its month and year have no other day. */
        first: unitsSchema,
        /** What each day that they have already adds, since it is copied. */
        perDay: unitsSchema,
        /** Bytes of a day's hours and of the day. */
        bytes: amount,
      }),
      /** One hourly sweep of the operator function, which counts the series of all layouts. */
      sweep: z.object({ layouts: count, units: unitsSchema }),
    }),
  ),
  /** Graphs, each of one day of one series. */
  reads: z.object({
    requests: count,
    /** Read from the warm tier, and from the archive. */
    warm: unitsSchema,
    cold: unitsSchema,
  }),
});

export type MeasuredUnits = z.output<typeof measuredUnitsSchema>;
export type Units = z.output<typeof unitsSchema>;
