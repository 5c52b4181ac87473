import type { Loss, Replay } from '../../../shared/recovery/recovery-table';
import { hasEnded, planReplay, planWatermarks, type Shard } from '../../../shared/recovery/replay-plan';

const HOUR_MS = 3_600_000;
const NOW_MS = 1_000 * HOUR_MS;

const loss = (given: Partial<Loss> = {}): Loss => ({
  id: 'loss-1',
  fromMs: 500,
  notices: 1,
  isOpen: true,
  noticedMs: NOW_MS,
  reason: 'a test',
  ...given,
});
const replay = (given: Partial<Replay> = {}): Replay => ({
  id: 'replay-1',
  fromMs: 300,
  toMs: Infinity,
  state: 'running',
  startedMs: NOW_MS,
  endedMs: undefined,
  mapping: 'mapping-1',
  loss: undefined,
  ...given,
});
const repairing = { id: 'loss-1', notices: 1 };
const ended = (hoursAgo: number) => ({ state: 'done' as const, endedMs: NOW_MS - hoursAgo * HOUR_MS });

describe('planReplay', () => {
  test.each([
    { name: 'nothing lost, nothing asked: no replay', expected: undefined },
    { name: 'a closed loss: no replay', loss: loss({ isOpen: false }), expected: undefined },
    { name: 'an open loss: from its first arrival to the end', loss: loss(), expected: [500, Infinity] },
    {
      name: 'an open loss that the running replay repairs: no other replay',
      loss: loss(),
      replay: replay({ loss: repairing }),
      expected: undefined,
    },
    {
      name: 'a loss noticed again during its replay: once more, from where that replay began',
      loss: loss({ notices: 2 }),
      replay: replay({ loss: repairing }),
      expected: [300, Infinity],
    },
    {
      name: 'a loss during an operator’s replay: one replay for both',
      loss: loss(),
      replay: replay({ toMs: 900 }),
      expected: [300, Infinity],
    },
    {
      name: 'a loss three hours after a replay: what that appended may be lost again',
      loss: loss(),
      replay: replay(ended(3)),
      expected: [300, Infinity],
    },
    {
      name: 'a loss five hours after a replay: that has reached the warm tier',
      loss: loss(),
      replay: replay(ended(5)),
      expected: [500, Infinity],
    },
    { name: 'an operator’s range', requested: [100, 200], expected: [100, 200] },
    {
      name: 'an operator’s range that the running replay covers: no other replay',
      requested: [400, 900],
      replay: replay(),
      expected: undefined,
    },
    {
      name: 'an operator’s range that begins before the running replay: both ranges',
      requested: [100, 200],
      replay: replay({ toMs: 900 }),
      expected: [100, 900],
    },
    {
      name: 'an operator’s range after an ended replay: only the range',
      requested: [400, 900],
      replay: replay(ended(1)),
      expected: [400, 900],
    },
    {
      name: 'an operator’s range and an open loss: the earlier start, to the end',
      requested: [600, 900],
      loss: loss(),
      expected: [500, Infinity],
    },
  ])('$name', ({ expected, requested, ...situation }) => {
    const range = planReplay({
      loss: undefined,
      replay: undefined,
      requested: requested && { fromMs: requested[0]!, toMs: requested[1]! },
      nowMs: NOW_MS,
      ...situation,
    });
    expect(range).toEqual(expected && { fromMs: expected[0], toMs: expected[1] });
  });
});

const shard = (id: string, isOpen = true, ...parents: string[]): Shard => ({
  id,
  parents,
  isOpen,
  hashKey: '0',
});

describe('hasEnded', () => {
  test('asks open shards only', () => {
    const progress = [{ shardId: 'b', arrivedMs: 1, isPassed: true }];
    expect(hasEnded([shard('a', false), shard('b', true, 'a')], progress)).toBe(true);
    expect(hasEnded([shard('a'), shard('b')], progress)).toBe(false);
  });
});

describe('planWatermarks', () => {
  test.each([
    { name: 'a new shard begins', has: [], shards: [shard('a')], begin: ['a'], removed: [] },
    { name: 'a shard that has one keeps it', has: ['a'], shards: [shard('a')], begin: [], removed: [] },
    {
      name: 'a shard that is gone loses it',
      has: ['a', 'b'],
      shards: [shard('b')],
      begin: [],
      removed: ['a'],
    },
    {
      name: 'a split: the parent stands for children that nobody has read',
      has: ['a'],
      shards: [shard('a', false), shard('b', true, 'a'), shard('c', true, 'a')],
      begin: [],
      removed: [],
    },
    {
      name: 'a split: the parent stays until both children have one',
      has: ['a', 'b'],
      shards: [shard('a', false), shard('b', true, 'a'), shard('c', true, 'a')],
      begin: [],
      removed: [],
    },
    {
      name: 'a split: the parent goes when both have one',
      has: ['a', 'b', 'c'],
      shards: [shard('a', false), shard('b', true, 'a'), shard('c', true, 'a')],
      begin: [],
      removed: ['a'],
    },
    {
      name: 'a merge: one parent is enough to stand for the child',
      has: ['b'],
      shards: [shard('a', false), shard('b', false), shard('c', true, 'a', 'b')],
      begin: [],
      removed: [],
    },
    {
      name: 'a child whose parents have none begins',
      has: [],
      shards: [shard('a', false), shard('b', true, 'a')],
      begin: ['b'],
      removed: [],
    },
  ])('$name', ({ has, shards, begin, removed }) => {
    const watermarks = new Map(has.map((id) => [id, 1]));
    expect(planWatermarks(watermarks, shards)).toEqual({ begin, delete: removed });
  });
});
