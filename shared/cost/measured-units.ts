import * as z from 'zod';
import { UNITS } from '../platform/names';

const amount = z.number().min(0);
const count = z.number().int().min(1);
/** Amounts of billed units, keyed by unit. A unit that was not used is absent. */
export const unitsSchema = z.partialRecord(z.enum(UNITS), amount);

/** Functions that a schedule or a heartbeat invokes, even if nothing is posted. */
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
 * Units that runs of the real pipeline used, as printed by `npm run bench -- units`. Every figure is the total
 * of one run. The forecast scales them to a load.
 */
export const measuredUnitsSchema = z.object({
  load: z.object({
    hosts: count,
    /** Number of metrics of each host. Each host's metrics form one group. */
    metrics: count,
    partitions: count,
    /** Whether post looks hosts up in the registry, as it does for Mackerel's API. */
    looksUpHosts: z.boolean().default(false),
  }),
  /** Runs of the post function with different numbers of samples per request. */
  posts: z
    .array(
      z.object({
        samplesPerRequest: count,
        requests: count,
        /** Bytes of records including partition keys. */
        streamBytes: amount,
        units: unitsSchema,
      }),
    )
    .min(2),
  /** One invocation of each function while there is nothing to do. */
  idle: z.record(z.enum(IDLE_FUNCTIONS), z.object({ ms: amount, units: unitsSchema })),
  /** Work that one UTC day of samples causes once it has left the stream, keyed by window length, such as `1h`. */
  windows: z.record(
    z.string(),
    z.object({
      samples: count,
      /** Redis memory with all samples, minus Redis memory without any. */
      hotBytes: amount,
      ingester: z.object({ invocations: count, units: unitsSchema }),
      flusher: z.object({ windows: count, units: unitsSchema }),
      /** Bytes of chunks; each group-window is one chunk. */
      warmBytes: amount,
      archiver: z.object({ objects: count, units: unitsSchema }),
      coldBytes: amount,
      /** Rollups of one UTC day of all series. */
      rollups: z.object({
        /** Units for the first day of a month and year. */
        first: unitsSchema,
        /**
         * Additional units for each day that the month and the year already have, because the archiver copies the
         * rollups of these days.
         */
        perDay: unitsSchema,
      }),
      /** One hourly sweep of the operator function, which counts the series of all layouts. */
      sweep: z.object({ layouts: count, units: unitsSchema }),
    }),
  ),
  /** Requests for graphs, each of one day of one series. */
  reads: z.object({
    requests: count,
    /** Units of graphs read from the warm tier, and from the archive. */
    warm: unitsSchema,
    cold: unitsSchema,
  }),
});

export type MeasuredUnits = z.output<typeof measuredUnitsSchema>;
export type Units = z.output<typeof unitsSchema>;
