import { Random } from '../faults/random';

/**
 * Kinds of faults that need real processes, clocks and sockets. They come in addition to kills of functions and AWS's
 * freedoms. Outages of AWS's services are left to the simulator (scripts/simulate).
 */
export const FAULT_KINDS = [
  'connections cut',
  'connections refused',
  'script replies lost',
  'Redis slow',
  'Redis killed',
  'Redis wiped',
  'Redis full',
  'lease expired in a flush',
  'clock skewed',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** Functions that are killed while they change state. */
export const VICTIMS = [
  'post',
  'ingester',
  'flusher',
  'archiver',
  'recovery',
  'replayer',
  'evaluator',
] as const;
/** Functions whose clocks are skewed at times. */
export const SKEWED = ['post', 'ingester', 'flusher', 'recovery', 'replayer', 'query'] as const;

export interface PlannedFault {
  /** Time after the start of the load, in ms. */
  readonly atMs: number;
  readonly durationMs: number;
  readonly kind: FaultKind;
  /** Seed of the random numbers used during the fault. */
  readonly seed: number;
}

/**
 * Maximum time between two faults, in ms. A run of half an hour has more than 200 faults; a short run has each kind
 * once.
 */
const MAX_GAP_MS = 6_000;
/** Time without faults at the start, in ms. The samples stored in it can then be destroyed by faults. */
const CALM_MS = 4_000;

/**
 * Plans the faults of a run. The plan depends only on seed and length. Every kind occurs once before any is repeated.
 */
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

/** Returns a function that draws all values in random order, then all values again in another order. */
function deck<T>(values: readonly T[], random: Random): () => T {
  let left: T[] = [];
  return () => {
    if (left.length === 0) left = random.shuffled(values);
    return left.pop()!;
  };
}
