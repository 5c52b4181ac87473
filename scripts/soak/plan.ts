import { Random } from '../faults/random';

/** Kinds of fault, beside kills of functions. */
export const FAULT_KINDS = [
  'connections cut',
  'connections refused',
  'script replies lost',
  'Redis slow',
  'Redis killed',
  'Redis wiped',
  'Redis full',
  'lease expired in a flush',
  'batches repeated',
  'shards reordered',
  'DynamoDB throttled',
  'DynamoDB failing',
  'DynamoDB slow',
  'DynamoDB pages cut',
  'AWS replies lost',
  'stream throttled',
  'stream records refused',
  'S3 unavailable',
  'S3 conflicts',
  'S3 slow',
  'clock skewed',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** Functions that are killed at their changes of state. */
export const VICTIMS = [
  'post',
  'ingester',
  'flusher',
  'archiver',
  'recovery',
  'replayer',
  'importer',
  'operator',
  'evaluator',
] as const;
/** Functions whose clocks are skewed at times. Post's and the archiver's are ahead all the time as well (run.ts). */
export const SKEWED = ['post', 'ingester', 'flusher', 'recovery', 'replayer', 'importer', 'query'] as const;

export interface PlannedFault {
  /** After the start of the load. */
  readonly atMs: number;
  readonly durationMs: number;
  readonly kind: FaultKind;
  /** Seed of the random numbers drawn while the fault lasts. */
  readonly seed: number;
}

/** Most time between two faults: half an hour has more than 200. A short run has each kind once. */
const MAX_GAP_MS = 6_000;
/** Time without faults at the start, in which samples are stored that can be lost. */
const CALM_MS = 4_000;

/** Plans a run's faults: the same for the same seed and length. Every kind comes before any comes again. */
export function planFaults(seed: number, lengthMs: number): PlannedFault[] {
  const random = new Random(seed);
  const gapMs = Math.min(MAX_GAP_MS, (lengthMs - CALM_MS) / FAULT_KINDS.length);
  const kinds = deck(FAULT_KINDS, random);
  return Array.from({ length: Math.floor((lengthMs - CALM_MS + 1) / gapMs) }, (_, i) => ({
    atMs: Math.round(CALM_MS + (i + random.next() * 0.3) * gapMs),
    durationMs: Math.round(gapMs * (0.6 + random.next() * 0.6)),
    kind: kinds(),
    seed: random.integer(0, 2 ** 32 - 1),
  }));
}

/** Draws all values in a random order, then all again in another. */
function deck<T>(values: readonly T[], random: Random): () => T {
  let left: T[] = [];
  return () => {
    if (left.length === 0) left = random.shuffled(values);
    return left.pop()!;
  };
}
