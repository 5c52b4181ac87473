import type { PrimaryState as Primary } from '../../../shared/hot/topology';
import { type Era, hasMoved, nextEra } from '../../../shared/recovery/primaries';

const primary = (id: string, slots: string, more: Partial<Primary> = {}): Primary => ({
  id,
  run: `run of ${id}`,
  previous: undefined,
  slots,
  isOpen: false,
  ...more,
});
const [a, b, c] = [primary('a', '0-99'), primary('b', '100-199'), primary('c', '200-299')];
const look = (primaries: readonly Primary[]) => ({
  primaries,
  isMoving: primaries.some(({ isOpen }) => isOpen),
});
/** The era after these looks, and how many losses of everything were noticed. */
function eraAfter(...looks: readonly (readonly Primary[])[]): { era: Era; losses: number; ids: string[] } {
  let era: Era | undefined;
  let losses = 0;
  for (const primaries of looks) {
    const step = nextEra(era, look(primaries), false);
    era = step.era;
    losses += step.isLoss ? 1 : 0;
  }
  return { era: era!, losses, ids: Object.keys(era!.primaries).sort() };
}

describe('an era of primaries', () => {
  const open = (of: Primary, slots = of.slots): Primary => ({ ...of, slots, isOpen: true });
  const empty = primary('d', '');
  const promoted = primary('a2', '0-99', { previous: 'a' });
  test.each<{
    name: string;
    looks: Primary[][];
    number: number;
    losses?: number;
    ids: string;
  }>([
    { name: 'begins with the first look', looks: [[a, b, c]], number: 1, ids: 'abc' },
    {
      name: 'goes on while nothing changes',
      looks: [
        [a, b, c],
        [c, b, a],
      ],
      number: 1,
      ids: 'abc',
    },
    {
      name: 'goes on when an empty primary joins',
      looks: [
        [a, b],
        [a, b, empty],
      ],
      number: 1,
      ids: 'abd',
    },
    {
      name: 'goes on while slots move to a primary that joined empty',
      looks: [
        [a, b],
        [a, b, empty],
        [open(a, '1-99'), b, open(primary('d', '0'))],
        [primary('a', '10-99'), b, primary('d', '0-9')],
      ],
      number: 1,
      ids: 'abd',
    },
    {
      name: 'goes on, and remembers it, when a primary that was emptied leaves',
      looks: [[a, b], [primary('a', '0-199'), primary('b', '')], [primary('a', '0-199')]],
      number: 1,
      ids: 'ab',
    },
    {
      name: 'ends without a loss of all when a primary’s replica took over while nothing moved',
      looks: [
        [a, b],
        [promoted, b],
      ],
      number: 2,
      losses: 0,
      ids: 'a2b',
    },
    {
      name: 'goes on when a primary has another id because its first replica attached, also while slots move',
      looks: [
        [a, open(b)],
        [primary('a3', '0-99', { run: 'run of a' }), open(b)],
      ],
      number: 1,
      ids: 'aa3b',
    },
    {
      name: 'ends when a primary was a replica in between, while slots move',
      looks: [
        [a, open(b)],
        [primary('a3', '0-99', { run: 'run of a', previous: 'z' }), open(b)],
      ],
      number: 2,
      ids: 'a3b',
    },
    {
      name: 'ends without a loss of all when a primary went, with nobody in its place',
      looks: [[a, b], [b]],
      number: 2,
      losses: 0,
      ids: 'b',
    },
    {
      name: 'ends without a loss of all when a primary that was a replica once joins empty while nothing moves',
      looks: [
        [a, b],
        [a, b, primary('d', '', { previous: 'x' })],
      ],
      number: 2,
      losses: 0,
      ids: 'abd',
    },
    {
      name: 'ends when a source goes while slots are on their way',
      looks: [
        [a, b],
        [open(a), open(b)],
        [promoted, open(b)],
      ],
      number: 2,
      ids: 'a2b',
    },
    {
      name: 'ends when a primary goes that nobody saw moving, but slots have moved meanwhile',
      looks: [
        [a, b, c],
        [promoted, primary('b', '150-199'), primary('c', '100-149 200-299')],
      ],
      number: 2,
      ids: 'a2bc',
    },
    {
      name: 'ends when a primary that joined goes while slots move to it',
      looks: [
        [a, b],
        [a, b, empty],
        [open(a), b],
      ],
      number: 2,
      ids: 'ab',
    },
    {
      name: 'ends when the replica of a primary that nobody saw holds slots of others',
      looks: [[a], [primary('a', '10-99'), primary('d2', '0-9', { previous: 'd' })]],
      number: 2,
      ids: 'ad2',
    },
    {
      name: 'ends when a primary is seen first with slots of others: one before it may have had more',
      looks: [[a], [primary('a', '10-99'), primary('d', '0-9')]],
      number: 2,
      ids: 'ad',
    },
    {
      name: 'ends when an empty primary that was a replica appears while slots move',
      looks: [[a], [open(a)], [open(a), primary('d2', '', { previous: 'd' })]],
      number: 2,
      ids: 'ad2',
    },
    {
      name: 'ends when a primary goes that serves nothing, but of which a slot is on its way',
      looks: [[a, b], [open(a), open(primary('b', ''))], [open(a)]],
      number: 2,
      ids: 'a',
    },
  ])('$name', ({ looks, number, losses = number - 1, ids }) => {
    const found = eraAfter(...looks);
    expect({ number: found.era.number, ids: found.ids.join('') }).toEqual({ number, ids });
    expect(found.losses).toBe(losses);
  });

  test('ends when a primary goes while a command moves slots, whether a move was seen or not', () => {
    const { era } = eraAfter([a, b]);
    expect(nextEra(era, look([promoted, b]), true)).toMatchObject({ isLoss: true, era: { number: 2 } });
    expect(nextEra(era, look([a, b, empty]), true)).toMatchObject({ isLoss: false, era: { number: 1 } });
  });

  describe('when a primary is not there any more, and nobody saw it empty', () => {
    const calm = { failures: 3 };
    const { era } = eraAfter([a, b, c].map((each) => ({ ...each, ...calm })));
    const others = [primary('a', '0-149', calm), primary('c', '150-299', calm)];
    const [first, second] = others as [Primary, Primary];
    test.each([
      { name: 'goes on if others have its slots, and heard of no failure', seen: others, number: 1 },
      {
        name: 'goes on if one of them does not say what it heard',
        seen: [first, { ...second, failures: undefined }],
        number: 1,
      },
      {
        name: 'ends if one of them heard of a failure or an election',
        seen: [first, { ...second, failures: 4 }],
        number: 2,
      },
      {
        name: 'ends if nobody says what it heard',
        seen: others.map((each) => ({ ...each, failures: undefined })),
        number: 2,
      },
      { name: 'ends if nobody has its slots', seen: [a, c].map((each) => ({ ...each, ...calm })), number: 2 },
      {
        name: 'ends if its replica has its slots',
        seen: [...others, primary('b2', '100-199', { previous: 'b' })],
        number: 2,
      },
      {
        name: 'ends if a stranger has come',
        seen: [...others, primary('d', '', { previous: 'x' })],
        number: 2,
      },
    ])('$name', ({ seen, number }) => {
      expect(nextEra(era, look(seen), true).era.number).toBe(number);
      expect(nextEra(era, look(seen), false).era.number).toBe(number);
    });
  });

  test.each([
    { name: 'nothing changed', seen: [a, b], areMoving: false },
    { name: 'a primary joined', seen: [a, b, empty], areMoving: false },
    { name: 'a slot is on its way', seen: [a, open(b)], areMoving: true },
    { name: 'slots have moved', seen: [primary('a', '0-149'), primary('b', '150-199')], areMoving: true },
  ])('slots count as moving or not: $name', ({ seen, areMoving }) => {
    expect(nextEra(eraAfter([a, b]).era, look(seen), false).areMoving).toBe(areMoving);
  });

  test('is the same object while nothing changed, so that nothing is written', () => {
    const { era } = eraAfter([a, b]);
    expect(nextEra(era, look([b, a]), false).era).toBe(era);
  });
});

describe('a mark of another primary', () => {
  const { era } = eraAfter(
    [a, b],
    [primary('a', ''), primary('b', '0-199')],
    [primary('b', '0-199'), primary('d', '')],
  );
  test.each([
    { name: 'moved between primaries of the era', markedBy: 'b', here: 'd', of: 1, expected: true },
    { name: 'moved from one that left empty', markedBy: 'a', here: 'b', of: 1, expected: true },
    { name: 'moved from one that nobody knows', markedBy: 'x', here: 'b', of: 1, expected: false },
    { name: 'is at a primary that nobody knows', markedBy: 'a', here: 'x', of: 1, expected: false },
    { name: 'is of an earlier era', markedBy: 'a', here: 'b', of: 0, expected: false },
    { name: 'is of a release without eras', markedBy: 'a', here: 'b', of: undefined, expected: false },
    { name: 'is missing', markedBy: undefined, here: 'b', of: undefined, expected: false },
  ])('$name', ({ markedBy, here, of, expected }) => {
    expect(hasMoved({ markedBy, here, era: of }, era)).toBe(expected);
  });
});
