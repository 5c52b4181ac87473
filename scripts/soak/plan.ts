import { Random } from '../faults/random';

/** What can go wrong, beside functions that are killed. */
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

/** Functions that are killed where they change something, and have their clocks skewed. */
export const VICTIMS = ['post', 'ingester', 'flusher', 'archiver', 'recovery', 'replayer'] as const;
export type Victim = (typeof VICTIMS)[number];

export interface PlannedFault {
  /** After the start of the load. */
  readonly atMs: number;
  readonly durationMs: number;
  readonly kind: FaultKind;
  /** For what is drawn while it lasts. */
  readonly seed: number;
}

export interface PlannedKill {
  readonly atMs: number;
  /** Killed at its next change where it was not killed before. */
  readonly victim: Victim;
}

export interface FaultPlan {
  readonly faults: readonly PlannedFault[];
  readonly kills: readonly PlannedKill[];
}

/** Between two faults at most, so that half an hour has more than 200; a short run has each kind once. */
const MAX_FAULT_GAP_MS = 6_000;
const MAX_KILL_GAP_MS = 3_000;
/** Without faults at the start, so that there is something to lose. */
const CALM_MS = 4_000;

/** What goes wrong when: the same for the same seed and length. Every kind comes before any comes again. */
export function planFaults(seed: number, lengthMs: number): FaultPlan {
  const random = new Random(seed);
  const span = lengthMs - CALM_MS;
  const gapMs = Math.min(MAX_FAULT_GAP_MS, span / FAULT_KINDS.length);
  const faults: PlannedFault[] = [];
  const kinds = deck(FAULT_KINDS, random);
  for (let atMs = CALM_MS; atMs + gapMs <= lengthMs + 1; atMs += gapMs)
    faults.push({
      atMs: Math.round(atMs + random.next() * gapMs * 0.3),
      durationMs: Math.round(gapMs * (0.3 + random.next() * 0.9)),
      kind: kinds(),
      seed: random.integer(0, 2 ** 32 - 1),
    });
  const kills: PlannedKill[] = [];
  const victims = deck(VICTIMS, random);
  const killGapMs = Math.min(MAX_KILL_GAP_MS, span / 90);
  for (let atMs = CALM_MS; atMs < lengthMs; atMs += killGapMs)
    kills.push({ atMs: Math.round(atMs), victim: victims() });
  return { faults, kills };
}

/** Draws each of the values once, in a random order, then all once more, and so on. */
function deck<T>(values: readonly T[], random: Random): () => T {
  let left: T[] = [];
  return () => {
    if (left.length === 0) left = random.shuffled(values);
    return left.pop()!;
  };
}
