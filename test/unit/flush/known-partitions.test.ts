import * as fc from 'fast-check';
import { KnownPartitions, LIST_SLICES, LOOK_SLICES } from '../../../shared/flush/known-partitions';
import type { PartitionRef } from '../../../shared/model/placement';

const MINUTE_MS = 60_000;
const RESIDENCY_MS = 10 * MINUTE_MS;
/** Number of partitions above which a round looks only at some of them. */
const ALWAYS = 3;
const refs: PartitionRef[] = Array.from({ length: 24 }, (_, partition) => ({ tenantId: 't', partition }));
const sliceOf = ({ partition }: PartitionRef) => partition % LIST_SLICES;

/** A group-window in memory. */
interface Stored {
  readonly firstWriteMs: number;
  readonly arrivalMs: number;
}

/** An instance of the flusher's function. */
class Flusher {
  readonly known = new KnownPartitions(ALWAYS);
  rounds = 0;
  readonly listed = new Set<PartitionRef>();
  /**
   * For each partition that was registered during the run: how many rounds this instance had made by then.
   */
  readonly registered = new Map<PartitionRef, number>();
}

interface Step {
  readonly appends: readonly (readonly [partition: number, lateMs: number])[];
  /**
   * The flusher whose round it is: 0 or 1, one of two flushers; 2, a new instance in place of flusher 0; 3,
   * no round takes place.
   */
  readonly flusher: number;
  /** Part of the due partitions that are moved before the round fails; 1: all. */
  readonly moved: number;
  /** Partitions that another lane's drain empties. The flushers are not told. */
  readonly drained: readonly number[];
  /** Whether memory fills, so that windows become due sooner. */
  readonly isFull: boolean;
}

const index = fc.nat({ max: refs.length - 1 });
const step: fc.Arbitrary<Step> = fc.record({
  appends: fc.array(fc.tuple(index, fc.nat({ max: 90_000 })), { maxLength: 6 }),
  flusher: fc.oneof(
    { weight: 6, arbitrary: fc.constant(0) },
    { weight: 3, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.constantFrom(2, 3) },
  ),
  moved: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.double({ min: 0, max: 0.9, noNaN: true })),
  drained: fc.oneof(fc.constant([]), fc.array(index, { maxLength: 3 })),
  isFull: fc.oneof({ weight: 8, arbitrary: fc.constant(false) }, fc.constant(true)),
});

/**
 * Simulates a minute for each step.
 *
 * @throws in the first minute in which a due window was forgotten, or the watermark is beyond what is in
 *   memory
 */
function live(steps: readonly Step[]): void {
  const memory = new Map<PartitionRef, Stored[]>();
  const flushers = [new Flusher(), new Flusher()];
  let watermarkMs = 1_000_000;
  steps.forEach(({ appends, flusher, moved, drained, isFull }, minute) => {
    const nowMs = 1_000_000 + (minute + 1) * MINUTE_MS;
    for (const [partition, lateMs] of appends) {
      const ref = refs[partition]!;
      if (!memory.has(ref)) for (const each of flushers) each.registered.set(ref, each.rounds);
      const arrivalMs = Math.max(watermarkMs, nowMs - 1_000 - lateMs);
      memory.set(ref, [...(memory.get(ref) ?? []), { firstWriteMs: nowMs - 1_000, arrivalMs }]);
    }
    for (const partition of drained) if (memory.has(refs[partition]!)) memory.set(refs[partition]!, []);
    if (flusher === 3) return;
    if (flusher === 2) flushers[0] = new Flusher();
    const turn = flushers[flusher % 2]!;
    const { known } = turn;
    watermarkMs = Math.max(watermarkMs, nowMs - 30_000);
    const dueBeforeMs = nowMs - (isFull ? 0 : RESIDENCY_MS);
    for (const slice of known.nextSlices(false)) {
      const listed = [...memory.keys()].filter((ref) => sliceOf(ref) === slice);
      known.list(slice, listed, watermarkMs);
      for (const ref of listed) turn.listed.add(ref);
    }
    const due: PartitionRef[] = [];
    for (const ref of known.toLookAt(dueBeforeMs, false)) {
      const stored = memory.get(ref)!;
      const least = (times: readonly number[]) => (times.length === 0 ? undefined : Math.min(...times));
      const oldestMs = least(stored.map(({ firstWriteMs }) => firstWriteMs));
      const lowestArrivalMs = least(stored.map(({ arrivalMs }) => arrivalMs));
      known.saw(ref, { oldestMs, lowestArrivalMs, atMs: nowMs, watermarkMs });
      if (oldestMs !== undefined && oldestMs <= dueBeforeMs) due.push(ref);
    }
    for (const ref of due.slice(0, Math.ceil(due.length * moved)))
      memory.set(
        ref,
        memory.get(ref)!.filter(({ firstWriteMs }) => firstWriteMs > dueBeforeMs),
      );
    turn.rounds++;

    const lowest = Math.min(...[...memory.values()].flat().map(({ arrivalMs }) => arrivalMs));
    if (known.lowestArrivalMs(watermarkMs) > lowest)
      throw new Error(`minute ${minute}: watermark beyond memory`);
    for (const [ref, stored] of memory) {
      const rounds = turn.rounds - (turn.registered.get(ref) ?? 0);
      const isListed = turn.listed.has(ref);
      if (rounds > LIST_SLICES && !isListed) throw new Error(`minute ${minute}: ${ref.partition} not listed`);
      if (moved === 1 && isListed && stored.some(({ firstWriteMs }) => firstWriteMs <= dueBeforeMs))
        throw new Error(`minute ${minute}: a window of ${ref.partition} was forgotten`);
    }
  });
}

test('no due group-window is forgotten, and the watermark never passes what is in memory', () => {
  const days = fc.property(fc.array(step, { minLength: 20, maxLength: 80 }), live);
  expect(() => fc.assert(days, { numRuns: 200 })).not.toThrow();
});

test('every partition is surveyed within three rounds, a third of them in each round', () => {
  const known = new KnownPartitions(ALWAYS);
  const lastLook = new Map<PartitionRef, number>();
  for (let round = 0; round < 12; round++) {
    for (const slice of known.nextSlices(false))
      known.list(
        slice,
        refs.filter((ref) => sliceOf(ref) === slice),
        1,
      );
    const looked = known.toLookAt(0, false);
    expect(looked).toHaveLength(round === 0 ? refs.length : refs.length / LOOK_SLICES);
    for (const ref of looked) {
      known.saw(ref, { oldestMs: undefined, lowestArrivalMs: undefined, atMs: round + 1, watermarkMs: 1 });
      lastLook.set(ref, round);
    }
    for (const ref of refs) expect(round - lastLook.get(ref)!).toBeLessThanOrEqual(LOOK_SLICES);
  }
});

test('a partition whose survey failed holds the watermark back, and is surveyed again', () => {
  const known = new KnownPartitions(ALWAYS);
  const [failing, other] = refs;
  for (const slice of known.nextSlices(false)) known.list(slice, slice === 0 ? [failing!, other!] : [], 50);
  const look = { oldestMs: 20, lowestArrivalMs: 30, atMs: 100, watermarkMs: 50 };
  known.saw(failing!, undefined);
  known.saw(other!, look);
  expect(known.lowestArrivalMs(50)).toBe(0);
  expect(known.toLookAt(0, false)).toContain(failing);
  known.saw(failing!, { ...look, lowestArrivalMs: undefined });
  expect(known.lowestArrivalMs(50)).toBe(30);
  expect(known.oldestMs()).toBe(20);
  known.forget(other!);
  expect(known.lowestArrivalMs(60)).toBe(50);
});
