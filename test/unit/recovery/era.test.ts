import type { PrimaryState } from '../../../shared/hot/topology';
import { type Era, judge, nextEra } from '../../../shared/recovery/era';

/**
 * Primaries as a look finds them, separated by spaces: `id[@process][<previous id][~]:slots[!failures]`. `~` means
 * that a slot is moving to or from the primary.
 */
function primariesIn(text: string): PrimaryState[] {
  return text.split(' ').map((each) => {
    const found = /^(\w+)(?:@(\w+))?(?:<(\w+))?(~?):([\d,-]*)(?:!(\d+))?$/.exec(each)!;
    const [, id, run = id, previous, open, slots, failures] = found;
    return {
      id: id!,
      run: run!,
      previous,
      slots: slots!.replaceAll(',', ' '),
      isOpen: open === '~',
      failures: failures === undefined ? undefined : Number(failures),
    };
  });
}

/** The era after several looks at the primaries, and the number of looks after which every partition counts as lost. */
function eraAfter(looks: readonly string[], isScaling = false): { era: Era; losses: number } {
  let era: Era | undefined;
  let losses = 0;
  for (const each of looks) {
    const step = nextEra(era, primariesIn(each), isScaling);
    era = step.era;
    losses += step.isLoss ? 1 : 0;
  }
  return { era: era!, losses };
}

describe('an era goes on', () => {
  test.each([
    { name: 'while nothing changes', looks: ['a:0-9 b:10-19', 'b:10-19 a:0-9'] },
    { name: 'when a primary joins without slots', looks: ['a:0-9 b:10-19', 'a:0-9 b:10-19 c:'] },
    {
      name: 'while slots move to it',
      looks: ['a:0-9', 'a:0-9 c:', 'a~:1-9 c~:0', 'a:5-9 c:0-4'],
    },
    {
      name: 'when a primary leaves that was seen without slots',
      looks: ['a:0-9 b:10-19', 'a:0-19 b:', 'a:0-19'],
    },
    {
      name: 'when a primary leaves that was seen without slots, although other nodes counted a failure',
      looks: ['a:0-9 b:10-19', 'a:0-19!1 b:', 'a:0-19!2'],
    },
    {
      name: 'when a primary leaves with slots, and no node counted a failure',
      looks: ['a:0-9!3 b:10-19 c:20-29!3', 'a:0-14!3 c:15-29!3'],
    },
    {
      name: 'when a primary leaves with slots, and one node does not report its counts',
      looks: ['a:0-9!3 b:10-19 c:20-29!3', 'a:0-14!3 c:15-29'],
    },
    {
      name: 'when the first replica of a primary attaches, also while slots move',
      looks: ['a:0-9 b~:10-19', 'a3@a:0-9 b~:10-19'],
    },
  ])('$name', ({ looks }) => {
    for (const isScaling of [false, true])
      expect(eraAfter(looks, isScaling)).toMatchObject({ era: { number: 1 }, losses: 0 });
  });
});

describe('an era ends', () => {
  test.each([
    { name: 'when a replica takes over', looks: ['a:0-9 b:10-19', 'a2<a:0-9 b:10-19'] },
    { name: 'when a primary disappears without a replacement', looks: ['a:0-9 b:10-19', 'b:10-19'] },
    {
      name: 'when a primary that was a replica joins, also without slots',
      looks: ['a:0-9 b:10-19', 'a:0-9 b:10-19 d<x:'],
    },
    {
      name: 'when a primary disappears that never had slots, since it may have received keys',
      looks: ['a:0-9 b:10-19', 'a:0-9 b:10-19 c:', 'a:0-9 b:10-19'],
    },
  ])('$name; with a loss of everything if a command moves slots', ({ looks }) => {
    expect(eraAfter(looks)).toMatchObject({ era: { number: 2 }, losses: 0 });
    expect(eraAfter(looks, true)).toMatchObject({ era: { number: 2 }, losses: 1 });
  });

  test.each([
    {
      name: 'a primary disappears while slots are moving',
      looks: ['a:0-9 b:10-19', 'a~:0-9 b~:10-19', 'a2<a:0-9 b~:10-19'],
    },
    {
      name: 'a primary disappears, and slots of others have moved since the last look',
      looks: ['a:0-9 b:10-19 c:20-29', 'a2<a:0-9 b:15-19 c:10-14,20-29'],
    },
    {
      name: 'a primary disappears that had joined and was receiving slots',
      looks: ['a:0-9', 'a:0-9 c:', 'a~:0-9'],
    },
    {
      name: 'a primary disappears while one of its slots is moving',
      looks: ['a:0-9 b:10-19', 'a~:0-19 b~:', 'a~:0-19'],
    },
    { name: 'a primary never seen before has slots of others', looks: ['a:0-9', 'a:5-9 d:0-4'] },
    {
      name: 'a replica of a primary never seen before has slots of others',
      looks: ['a:0-9', 'a:5-9 d2<d:0-4'],
    },
    { name: 'a replica of a primary never seen before is there', looks: ['a:0-9', 'a~:0-9', 'a~:0-9 d2<d:'] },
    { name: 'a primary was a replica in between', looks: ['a:0-9 b~:10-19', 'a3@a<z:0-9 b~:10-19'] },
    {
      name: 'a primary leaves with slots, and a node counted a failure',
      looks: ['a:0-9!3 b:10-19 c:20-29!3', 'a:0-14!3 c:15-29!4'],
    },
    {
      name: 'a primary leaves with slots, and no node reports its counts',
      looks: ['a:0-9 b:10-19 c:20-29', 'a:0-14 c:15-29'],
    },
    {
      name: 'a primary leaves with slots, and another joins, which may be the same',
      looks: ['a:0-9!3 b:10-19 c:20-29!3', 'a:0-14!3 c:15-29!3 d:'],
    },
  ])('with a loss of everything when $name', ({ looks }) => {
    expect(eraAfter(looks)).toMatchObject({ era: { number: 2 }, losses: 1 });
  });
});

test('an era is the same object while nothing changed, so that nothing is written', () => {
  const recorded: Era = JSON.parse(JSON.stringify(eraAfter(['a:0-9 b<c:10-19']).era));
  expect(nextEra(recorded, primariesIn('b<c:10-19 a:0-9'), false).era).toBe(recorded);
});

describe('a mark that is not good', () => {
  const { era } = eraAfter(['a:0-9 b:10-19', 'a: b:0-19', 'b:0-19 d:']);
  test.each([
    { name: 'moved between primaries of the era', markedBy: 'b', here: 'd', of: 1, verdict: 'moved' },
    {
      name: 'moved from a primary that left without slots',
      markedBy: 'a',
      here: 'b',
      of: 1,
      verdict: 'moved',
    },
    { name: 'is at an unknown primary', markedBy: 'a', here: 'x', of: 1, verdict: 'lost' },
    { name: 'is of an earlier era', markedBy: 'a', here: 'b', of: 0, verdict: 'lost' },
    { name: 'is of no era', markedBy: 'a', here: 'b', of: undefined, verdict: 'lost' },
    { name: 'is missing', markedBy: undefined, here: 'b', of: undefined, verdict: 'lost' },
  ])('that $name: $verdict', ({ markedBy, here, of, verdict }) => {
    const place = { here, stamp: markedBy ?? '' };
    const bad = { ...place, state: 'bad', loss: '', isExpired: false, era: of, lostFromMs: 0 } as const;
    const mark = markedBy === undefined ? ({ ...place, state: 'absent' } as const) : bad;
    expect(judge(mark, era)).toBe(verdict);
    expect(judge(mark, undefined)).toBe('unsure');
    // Frames that expired are a loss, regardless of the primary.
    expect(judge({ ...bad, isExpired: true }, era)).toBe('lost');
  });
});
