import timers from 'node:timers/promises';
import { HotNodes } from '../../../shared/hot/hot-nodes';
import { HotTier } from '../../../shared/hot/hot-tier';
import { type FoundMark, type Mark, markOf, PartitionMarks } from '../../../shared/hot/partition-marks';
import type { PrimaryState, Topology } from '../../../shared/hot/topology';
import { type PartitionRef, tenantIdOf } from '../../../shared/model/placement';
import type { Era } from '../../../shared/recovery/era';
import { LossWatch, lostSinceMs } from '../../../shared/recovery/loss-watch';
import { type Loss, RecoveryTable } from '../../../shared/recovery/recovery-table';

const MINUTE_MS = 60_000;

const refOf = (partition: number): PartitionRef => ({ tenantId: tenantIdOf('t'), partition });
const primary = (id: string, previous?: string): PrimaryState => ({
  id,
  run: id,
  previous,
  slots: id,
  isOpen: false,
});

/** The fields of a mark, which Lua scripts write in the real store. */
interface MarkFields {
  readonly node: string;
  readonly loss?: string;
  readonly era?: number;
  readonly arrivedMs?: number;
  readonly isExpired?: boolean;
}

/**
 * A store whose primary `a` has all partitions, next to a primary `b`, in era 7. Partition 0 is the one under test.
 * Only sleeping takes time.
 */
class World {
  readonly marks = new Map<number, MarkFields>();
  readonly registered = new Set<number>();
  /** Everything that LossWatch wrote, in order. */
  readonly writes: string[] = [];
  here = primary('a');
  primaries: readonly PrimaryState[] | undefined = [primary('a'), primary('b')];
  movingPartitions: number[] = [];
  era: Era = { number: 7, primaries: this.primaries!.map((each) => ({ ...each, hasServed: true })) };
  loss: Loss | undefined;
  lossReads = 0;
  waitedMs = 0;
  /** Another instance's work, by the time after which it happens, in ms. */
  readonly later = new Map<number, () => void>();
  /** Another instance's work while LossWatch looks at the primaries for the first time. */
  duringLook: (() => void) | undefined;

  readonly losses = new LossWatch({
    hot: Object.assign(Object.create(HotTier.prototype), {
      marks: new ModelMarks(this),
      nodes: new ModelNodes(this),
    }),
    table: new ModelTable(this),
    lanes: 1,
    now: () => 20 * MINUTE_MS + this.waitedMs,
  });

  sleep(ms: number): void {
    this.waitedMs += ms;
    if (this.waitedMs > 10_000) throw new Error('waits for more than ten seconds');
    for (const [afterMs, happens] of this.later) if (afterMs === this.waitedMs) happens();
  }

  openLoss(id: string, fromMs: number): void {
    this.loss = { id, fromMs, notices: 1, isOpen: true, noticedMs: 0, reason: '' };
  }
}

class ModelNodes extends HotNodes {
  constructor(private readonly world: World) {
    super(undefined as never);
  }

  override slotOf({ partition }: PartitionRef): number {
    return partition;
  }

  override async topology(): Promise<Topology> {
    const { world } = this;
    world.duringLook?.();
    world.duringLook = undefined;
    const movingSlots = new Set(world.movingPartitions);
    return { text: '', isMoving: movingSlots.size > 0, movingSlots, primaries: world.primaries };
  }
}

/** Does what the scripts do. */
class ModelMarks extends PartitionMarks {
  constructor(private readonly world: World) {
    super(undefined as never, undefined as never);
  }

  private found(partition: number): FoundMark {
    const { here, marks } = this.world;
    const { node, loss, era, arrivedMs, isExpired } = marks.get(partition) ?? {};
    const [arrived, number] = [arrivedMs, era].map((value) => (value === undefined ? null : String(value)));
    const lossField = node === undefined ? null : (loss ?? '');
    const reply = [lossField, arrived!, null, node ?? null, number!, isExpired ? '1' : null] as const;
    return markOf([...reply, here.id, here.previous ?? '0']);
  }

  override async read({ partition }: PartitionRef): Promise<FoundMark> {
    return this.found(partition);
  }

  override async survey(refs: readonly PartitionRef[]) {
    const found = { oldestMs: undefined, dueMs: undefined, lowestArrivalMs: undefined };
    return refs.map(({ partition }) => (this.found(partition).state === 'good' ? found : undefined));
  }

  override async mark(ref: PartitionRef, mark: FoundMark, loss: string, era?: number): Promise<boolean> {
    return this.write('mark', ref, mark, { loss, era });
  }

  override async takeOver(ref: PartitionRef, mark: FoundMark, era?: number): Promise<boolean> {
    return this.write('take over', ref, mark, { era, ...this.world.marks.get(ref.partition) });
  }

  private write(
    what: string,
    { partition }: PartitionRef,
    mark: FoundMark,
    fields: Omit<MarkFields, 'node'>,
  ) {
    const { here, stamp } = this.found(partition);
    if (mark.here !== here || mark.stamp !== stamp) return false;
    this.world.writes.push(`${what} ${partition}`);
    this.world.marks.set(partition, { ...fields, node: here });
    return true;
  }
}

class ModelTable extends RecoveryTable {
  constructor(private readonly world: World) {
    super(undefined as never);
  }

  override async era(): Promise<Era> {
    return this.world.era;
  }

  override async putEra(era: Era): Promise<boolean> {
    this.world.writes.push(`era ${era.number}`);
    this.world.era = era;
    return true;
  }

  override async scalingUntilMs(): Promise<number> {
    return 0;
  }

  override async register({ partition }: PartitionRef): Promise<boolean> {
    if (this.world.registered.has(partition)) return false;
    this.world.writes.push(`register ${partition}`);
    this.world.registered.add(partition);
    return true;
  }

  override async isRegistered({ partition }: PartitionRef): Promise<boolean> {
    return this.world.registered.has(partition);
  }

  override async registered(): Promise<PartitionRef[]> {
    return [...this.world.registered].map(refOf);
  }

  override async flushedUntilMs(): Promise<number> {
    return 10 * MINUTE_MS;
  }

  override async loss(): Promise<Loss | undefined> {
    this.world.lossReads++;
    return this.world.loss;
  }

  override async notice(fromMs: number, reason: string): Promise<Loss> {
    this.world.writes.push(`loss from minute ${fromMs / MINUTE_MS}: ${reason}`);
    this.world.openLoss('new', fromMs);
    return this.world.loss!;
  }
}

let world: World;
beforeEach(() => {
  world = new World();
  jest.spyOn(timers, 'setTimeout').mockImplementation(async (ms) => world.sleep(ms!) as never);
});
afterEach(() => jest.restoreAllMocks());

const reasonOf = ({ gone = 0, moved = 0, expired = 0 }) =>
  `${gone} partitions were gone from memory, ${moved} had another primary, samples of ${expired} expired`;

interface Case {
  readonly name: string;
  /** The state of the store before the call, and what other instances do during it. */
  readonly given: (world: World) => void;
  /** @default 0 */
  readonly waitedMs?: number;
}

describe('resolve', () => {
  const bMarked = { node: 'b', era: 7, arrivedMs: 15 * MINUTE_MS };
  test.each<Case & { readonly writes: readonly string[]; readonly mark: Partial<MarkFields> | undefined }>([
    {
      name: 'leaves a good mark as it is, whatever its era',
      given: ({ marks }) => marks.set(0, { node: 'a', era: 6 }),
      writes: [],
      mark: { node: 'a', era: 6 },
    },
    {
      name: 'registers a new partition, and marks it with the era',
      given: () => {},
      writes: ['register 0', 'take over 0'],
      mark: { node: 'a', era: 7 },
    },
    {
      name: 'waits for the first mark of a partition that another instance has just registered',
      given: ({ registered, later, marks }) => {
        registered.add(0);
        later.set(300, () => marks.set(0, { node: 'a' }));
      },
      waitedMs: 300,
      writes: [],
      mark: { node: 'a' },
    },
    {
      name: 'records a loss if a registered partition has no mark for a second',
      given: ({ registered }) => registered.add(0),
      waitedMs: 1_000,
      writes: [`loss from minute 9: ${reasonOf({ gone: 1 })}`, 'mark 0'],
      mark: { node: 'a', loss: 'new', era: 7 },
    },
    {
      name: 'takes over the mark of a partition that a planned move has brought',
      given: ({ marks }) => marks.set(0, bMarked),
      writes: ['take over 0'],
      mark: { ...bMarked, node: 'a' },
    },
    {
      name: 'takes over the mark of a moved partition that had a loss, and keeps the loss',
      given: ({ marks }) => marks.set(0, { ...bMarked, loss: 'old' }),
      writes: ['take over 0'],
      mark: { ...bMarked, node: 'a', loss: 'old' },
    },
    {
      name: 'waits while the slot of the partition is still moving',
      given: (world) => {
        world.marks.set(0, bMarked);
        world.movingPartitions = [0, 1];
        world.later.set(200, () => {
          world.movingPartitions = [1];
        });
      },
      waitedMs: 200,
      writes: ['take over 0'],
      mark: { ...bMarked, node: 'a' },
    },
    {
      name: 'waits while a primary does not answer, and takes over the mark once it does',
      given: (world) => {
        const { primaries } = world;
        world.marks.set(0, bMarked);
        world.primaries = undefined;
        world.later.set(200, () => {
          world.primaries = primaries;
        });
      },
      waitedMs: 200,
      writes: ['take over 0'],
      mark: { ...bMarked, node: 'a' },
    },
    {
      name: 'records a loss if a primary does not answer for two seconds, and marks the partition with no era',
      given: (world) => {
        world.marks.set(0, bMarked);
        world.primaries = undefined;
      },
      waitedMs: 2_100,
      writes: [`loss from minute 9: ${reasonOf({ moved: 1 })}`, 'mark 0'],
      mark: { node: 'a', loss: 'new', era: undefined },
    },
    {
      name: 'records a loss if the mark is of an earlier era',
      given: ({ marks }) => marks.set(0, { ...bMarked, era: 6 }),
      writes: [`loss from minute 9: ${reasonOf({ moved: 1 })}`, 'mark 0'],
      mark: { node: 'a', loss: 'new', era: 7 },
    },
    {
      name: 'records the new era, and a loss since the arrival in the mark, if a replica took over',
      given: (world) => {
        world.here = primary('c', 'b');
        world.primaries = [primary('a'), world.here];
        world.marks.set(0, bMarked);
      },
      writes: ['era 8', `loss from minute 14: ${reasonOf({ moved: 1 })}`, 'mark 0'],
      mark: { node: 'c', loss: 'new', era: 8 },
    },
    {
      name: 'records a loss if frames expired, although the mark names the primary',
      given: ({ marks }) => marks.set(0, { node: 'a', era: 7, isExpired: true }),
      writes: [`loss from minute 9: ${reasonOf({ expired: 1 })}`, 'mark 0'],
      mark: { node: 'a', loss: 'new' },
    },
    {
      name: 'records one loss for all lost partitions, and leaves the marks of good and moved ones',
      given: ({ marks, registered }) => {
        marks.set(0, { ...bMarked, era: 6 });
        marks.set(1, { node: 'a', era: 6 });
        marks.set(2, bMarked);
        marks.set(3, { node: 'a', isExpired: true });
        for (const partition of [0, 1, 2, 3, 4]) registered.add(partition);
      },
      writes: [
        `loss from minute 9: ${reasonOf({ gone: 1, moved: 1, expired: 1 })}`,
        'mark 0',
        'mark 3',
        'mark 4',
      ],
      mark: { node: 'a', loss: 'new' },
    },
    {
      name: 'records nothing if another instance has recorded the loss during the look',
      given: (world) => {
        world.marks.set(0, { ...bMarked, era: 6 });
        world.duringLook = () => world.marks.set(0, { node: 'a', loss: 'other' });
      },
      writes: [],
      mark: { node: 'a', loss: 'other' },
    },
    {
      name: 'reads the mark again if another instance has taken it over during the look',
      given: (world) => {
        world.marks.set(0, bMarked);
        world.duringLook = () => world.marks.set(0, { ...bMarked, node: 'a' });
      },
      waitedMs: 100,
      writes: [],
      mark: { node: 'a' },
    },
  ])('$name', async ({ given, waitedMs = 0, writes, mark }) => {
    given(world);
    await world.losses.resolve(refOf(0));
    expect(world.writes).toEqual(writes);
    expect(world.marks.get(0)).toMatchObject(mark!);
    expect(world.waitedMs).toBe(waitedMs);
  });

  test('fails if the slot of the partition moves for more than two seconds, and writes nothing', async () => {
    world.marks.set(0, bMarked);
    world.movingPartitions = [0];
    await expect(world.losses.resolve(refOf(0))).rejects.toThrow('partition 0 of tenant');
    expect(world).toMatchObject({ writes: [], waitedMs: 2_100 });
  });
});

describe('missingSince', () => {
  const good = (loss = ''): Mark => ({ state: 'good', loss });
  const bad = (loss = ''): Mark => ({ state: 'bad', loss });
  const bMarked = { node: 'b', era: 7 };
  test.each<
    Case & { readonly mark: Mark; readonly sinceMs: number | undefined; readonly lossReads?: number }
  >([
    {
      name: 'a good mark without a loss: nothing is missing',
      given: () => {},
      mark: good(),
      sinceMs: undefined,
    },
    {
      name: 'a good mark after a loss that is open: samples since its start',
      given: (world) => world.openLoss('l', 500),
      mark: good('l'),
      sinceMs: 500,
      lossReads: 1,
    },
    {
      name: 'a good mark after a loss that another one has followed: nothing',
      given: (world) => world.openLoss('later', 500),
      mark: good('l'),
      sinceMs: undefined,
      lossReads: 1,
    },
    {
      name: 'no mark, and the partition is new: nothing',
      given: () => {},
      mark: { state: 'absent' },
      sinceMs: undefined,
    },
    {
      name: 'no mark, and the first one is written within a second: nothing',
      given: ({ registered, later, marks }) => {
        registered.add(0);
        later.set(1_000, () => marks.set(0, { node: 'a' }));
      },
      mark: { state: 'absent' },
      sinceMs: undefined,
      waitedMs: 1_000,
    },
    {
      name: 'no mark for a second, although the partition is registered: unknown',
      given: ({ registered }) => registered.add(0),
      mark: { state: 'absent' },
      sinceMs: 0,
      waitedMs: 1_000,
    },
    {
      name: 'no mark, and meanwhile a mark after a loss: unknown',
      given: ({ registered, marks }) => {
        registered.add(0);
        marks.set(0, { node: 'a', loss: 'l' });
      },
      mark: { state: 'absent' },
      sinceMs: 0,
    },
    {
      name: 'no mark, and meanwhile the mark of another primary: unknown',
      given: ({ registered, marks }) => {
        registered.add(0);
        marks.set(0, bMarked);
      },
      mark: { state: 'absent' },
      sinceMs: 0,
    },
    {
      name: 'a bad mark of this era, because the partition was moved: nothing',
      given: ({ marks }) => marks.set(0, bMarked),
      mark: bad(),
      sinceMs: undefined,
    },
    {
      name: 'a bad mark of this era, after a loss that is open: samples since its start',
      given: (world) => {
        world.marks.set(0, { ...bMarked, loss: 'l' });
        world.openLoss('l', 500);
      },
      mark: bad('l'),
      sinceMs: 500,
      lossReads: 1,
    },
    {
      name: 'a bad mark that has been taken over meanwhile: nothing',
      given: ({ marks }) => marks.set(0, { ...bMarked, node: 'a' }),
      mark: bad(),
      sinceMs: undefined,
    },
    {
      name: 'a bad mark of an earlier era: unknown',
      given: ({ marks }) => marks.set(0, { ...bMarked, era: 6 }),
      mark: bad(),
      sinceMs: 0,
    },
    {
      name: 'a bad mark, because frames expired: unknown',
      given: ({ marks }) => marks.set(0, { node: 'a', era: 7, isExpired: true }),
      mark: bad(),
      sinceMs: 0,
    },
    {
      name: 'a bad mark, and meanwhile a good one after a loss: unknown',
      given: ({ marks }) => marks.set(0, { node: 'a', loss: 'new' }),
      mark: bad(),
      sinceMs: 0,
    },
    {
      name: 'a bad mark, and meanwhile none: unknown',
      given: () => {},
      mark: bad(),
      sinceMs: 0,
    },
    {
      name: 'a bad mark of this era, known once all primaries answer: nothing',
      given: (world) => {
        const { primaries } = world;
        world.marks.set(0, bMarked);
        world.primaries = undefined;
        world.later.set(300, () => {
          world.primaries = primaries;
        });
      },
      mark: bad(),
      sinceMs: undefined,
      waitedMs: 300,
    },
    {
      name: 'a bad mark, and a primary that does not answer for two seconds: unknown',
      given: (world) => {
        world.marks.set(0, bMarked);
        world.primaries = undefined;
      },
      mark: bad(),
      sinceMs: 0,
      waitedMs: 2_100,
    },
  ])('$name', async ({ given, mark, sinceMs, waitedMs = 0, lossReads = 0 }) => {
    given(world);
    expect(await world.losses.missingSince(refOf(0), mark)).toBe(sinceMs);
    expect(world).toMatchObject({ waitedMs, lossReads });
    // A reader writes nothing.
    expect(world.writes).toEqual([]);
  });

  test('asks the table about a loss until it is closed', async () => {
    const since = () => world.losses.missingSince(refOf(0), good('l'));
    world.openLoss('l', 500);
    expect([await since(), await since()]).toEqual([500, 500]);
    world.loss = { ...world.loss!, isOpen: false };
    expect([await since(), await since()]).toEqual([undefined, undefined]);
    expect(world.lossReads).toBe(3);
  });

  test('does not ask about a closed loss again if a planned move has brought the partition since', async () => {
    world.openLoss('l', 500);
    world.loss = { ...world.loss!, isOpen: false };
    expect(await world.losses.missingSince(refOf(0), good('l'))).toBeUndefined();
    world.marks.set(0, { ...bMarked, loss: 'l' });
    expect(await world.losses.missingSince(refOf(0), bad('l'))).toBeUndefined();
    expect(world.lossReads).toBe(1);
  });

  test('does not record a new era, which would hide the loss from writers', async () => {
    world.here = primary('c', 'b');
    world.primaries = [primary('a'), world.here];
    world.marks.set(0, bMarked);
    expect(await world.losses.missingSince(refOf(0), bad())).toBe(0);
    expect(world).toMatchObject({ writes: [], era: { number: 7 } });
  });
});

describe('lostSinceMs', () => {
  const bad = { state: 'bad', loss: '', here: 'b', stamp: 'a' } as const;
  const inherited = (lostFromMs: number) => ({ ...bad, isExpired: false, era: 1, lostFromMs }) as const;
  test.each([
    { name: 'nothing is known: from the beginning', flushedUntilMs: 0, lost: [inherited(0)], expected: 0 },
    {
      name: 'a mark tells no arrival: from the flushed-until time, less a minute',
      flushedUntilMs: 10 * MINUTE_MS,
      lost: [inherited(0), inherited(20 * MINUTE_MS)],
      expected: 9 * MINUTE_MS,
    },
    {
      name: 'marks tell later arrivals than the flushed-until time: from the oldest of them, less a minute',
      flushedUntilMs: 10 * MINUTE_MS,
      lost: [inherited(30 * MINUTE_MS), inherited(20 * MINUTE_MS)],
      expected: 19 * MINUTE_MS,
    },
    {
      name: 'a partition was wiped: from the flushed-until time',
      flushedUntilMs: 10 * MINUTE_MS,
      lost: [{ state: 'absent', here: 'b', stamp: '' } as const, inherited(20 * MINUTE_MS)],
      expected: 9 * MINUTE_MS,
    },
    {
      name: 'frames expired: from the flushed-until time',
      flushedUntilMs: 10 * MINUTE_MS,
      lost: [{ ...bad, isExpired: true } as const, inherited(20 * MINUTE_MS)],
      expected: 9 * MINUTE_MS,
    },
    {
      name: 'every partition is lost: from the flushed-until time',
      flushedUntilMs: 10 * MINUTE_MS,
      lost: [],
      expected: 9 * MINUTE_MS,
    },
  ])('$name', ({ flushedUntilMs, lost, expected }) => {
    expect(lostSinceMs(flushedUntilMs, lost)).toBe(expected);
  });
});
