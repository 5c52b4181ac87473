import { argumentsOf, type RequestedGroup, replyOf } from '../../../shared/hot/read-call';
import type { GroupsReply } from '../../../shared/hot/scripts';

const list = (start: number, known?: { readonly count: number; readonly markId: string }) => ({
  start,
  name: `frames-${start}`,
  known,
});
const group = (fields: Partial<RequestedGroup> = {}): RequestedGroup => ({
  name: 'windows',
  picks: [],
  lists: [list(0)],
  ...fields,
});
const pick = (columns: number) => ({
  layout: Uint8Array.of(1, 2),
  columns: Uint32Array.from({ length: columns }, (_, i) => i),
});

describe('a call of the read script', () => {
  test('names the mark, and of each group its windows and lists, in the order of its arguments', () => {
    const second = group({ name: 'windows-2', lists: [list(60), list(120)] });
    const [names, args] = argumentsOf('mark', 'id', [group(), second]);
    expect(names).toEqual(['mark', 'windows', 'frames-0', 'windows-2', 'frames-60', 'frames-120']);
    expect(args).toHaveLength(4);
  });

  test('leaves out the frames that the reader has, unless the partition was marked anew since', () => {
    const lists = [list(0, { count: 5, markId: 'now' }), list(60, { count: 7, markId: 'before' })];
    const [, args] = argumentsOf('mark', 'now', [group({ lists })]);
    expect(args[2]).toMatch(/ 2 0 5 60 0$/);
  });

  test.each([
    { wants: 'whole frames', picks: [], expected: '10 0 1 0 0' },
    { wants: 'one column', picks: [pick(1)], expected: '1 1 0102 0 1 0 0' },
    { wants: 'eight columns', picks: [pick(8)], expected: '2 1 0102 0,1,2,3,4,5,6,7 1 0 0' },
  ])('for $wants states the cost of a frame and the columns', ({ picks, expected }) => {
    expect(argumentsOf('mark', 'id', [group({ picks })])[1][2]).toBe(expected);
  });

  test('never counts a frame as more than a frame that is returned whole', () => {
    const costOf = (picks: RequestedGroup['picks']) =>
      Number(String(argumentsOf('mark', 'id', [group({ picks })])[1][2]).split(' ')[0]);
    for (const columns of [1, 50, 80, 500]) expect(costOf([pick(columns)])).toBeLessThanOrEqual(costOf([]));
    expect(costOf([pick(1), pick(40)])).toBe(costOf([pick(40)]));
  });
});

describe('a reply of the read script', () => {
  const frames = Buffer.from('frames');
  const bytes = (text: string) => Buffer.from(text);
  const reply = (...rest: GroupsReply[4][]): GroupsReply => [
    1,
    null,
    bytes('7200 3600 60'),
    bytes('id'),
    ...rest,
  ];
  const listsOf = (...values: (Buffer | number | null)[]) =>
    replyOf(reply([bytes('0')], ...values), [group()]).groups[0]!.lists;

  test('tells which windows left memory: any may have if the mark does not say', () => {
    expect(replyOf(reply(), [])).toMatchObject({
      left: { beforeMs: 7200, starts: [3600, 60] },
      markId: 'id',
    });
    const unknown = replyOf([0, bytes('loss'), null, null], []);
    expect(unknown).toEqual({
      mark: { state: 'bad', loss: 'loss' },
      left: { beforeMs: Infinity, starts: [] },
      markId: undefined,
      groups: [],
    });
  });

  test.each([
    {
      name: 'has the frames after those that the reader knows',
      values: [9, 4, 600, frames],
      leftOut: 4,
      picked: frames,
    },
    { name: 'has none if the reader knows all', values: [4, 4, 0, null], leftOut: 4, picked: undefined },
    {
      name: 'leaves no frame out if it had no room for them',
      values: [9, 4, 600, -1],
      leftOut: 0,
      picked: undefined,
    },
  ])('of a list $name', ({ values, leftOut, picked }) => {
    expect(listsOf(...values)).toEqual([{ count: values[0], leftOut, bytes: picked ? 600 : 0, picked }]);
  });

  test('has the first groups of the call, each with all of its lists', () => {
    const groups = [group({ lists: [list(0), list(60)] }), group()];
    const found = replyOf(reply([bytes('0'), bytes('60')], 1, 0, 8, frames, 0, 0, 0, null), groups).groups;
    expect(found.map(({ starts, lists }) => [starts, lists.map(({ count }) => count)])).toEqual([
      [
        [0, 60],
        [1, 0],
      ],
    ]);
  });
});
