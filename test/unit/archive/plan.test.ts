import { planDay, planPurge, planRemoval } from '../../../shared/archive/plan';
import { warmKeys } from '../../../shared/platform/keys';

/** A group id of 27 characters. */
const groupOf = (name: string) => name.padEnd(27, '0');
const sortKey = (name: string, windowStart = 0) =>
  warmKeys.sort({ group: groupOf(name), windowStart, layer: 0, startMs: windowStart });
/** `{ a: '1' }`: the warm item of group a has the revision 1. */
const revisions = (items: Readonly<Record<string, string>>) =>
  new Map(Object.entries(items).map(([name, revision]) => [sortKey(name), revision]));

interface Stored {
  readonly group: string;
  readonly samples: number;
  readonly deleted?: number;
}

function factsOf(
  warm: Readonly<Record<string, string>>,
  held?: Readonly<Record<string, string>>,
  chunks: readonly Stored[] = [],
) {
  const object = held && {
    warm: Object.fromEntries(revisions(held)),
    chunks: chunks.map(({ group, samples, deleted = 0 }, id) => ({
      chunk: { id, group: groupOf(group), samples },
      deleted,
    })),
  };
  return { warm: revisions(warm), object, isMoved: false };
}

describe('the plan for a day that is open', () => {
  test.each([
    { name: 'without data there is nothing to do', facts: factsOf({}), plan: { act: 'skip' } },
    {
      name: 'an object that holds every warm item at its revision is committed as it is',
      facts: factsOf({ a: '1' }, { a: '1', purged: '1' }, [{ group: 'a', samples: 7 }]),
      plan: { act: 'commit', samples: 7 },
    },
    {
      name: 'an object whose warm items were all purged is committed as it is',
      facts: factsOf({}, { a: '1' }, [{ group: 'a', samples: 7 }]),
      plan: { act: 'commit', samples: 7 },
    },
  ])('$name', ({ facts, plan }) => {
    expect(planDay(facts)).toEqual(plan);
  });

  test.each([
    {
      name: 'the first object is made of the warm items, group after group',
      facts: factsOf({ b: '1', a: '1' }),
      groups: ['a: warm', 'b: warm'],
      minSamples: 0,
    },
    {
      name: 'an item of another revision is merged with every chunk of its group',
      facts: factsOf({ a: '2' }, { a: '1' }, [
        { group: 'a', samples: 5 },
        { group: 'a', samples: 6 },
      ]),
      groups: ['a: merge 0 1 warm'],
      minSamples: 11,
    },
    {
      name: 'a group whose items the object holds already is copied, though another group changed',
      facts: factsOf({ a: '1', b: '2' }, { a: '1', b: '1' }, [
        { group: 'a', samples: 5 },
        { group: 'b', samples: 6 },
      ]),
      groups: ['a: copy 0', 'b: merge 1 warm'],
      minSamples: 11,
    },
    {
      name: 'a group without warm items is copied',
      facts: factsOf({ b: '1' }, {}, [{ group: 'a', samples: 5 }]),
      groups: ['a: copy 0', 'b: warm'],
      minSamples: 5,
    },
    {
      name: 'an object of another format is taken over whole, though nothing changed',
      facts: { ...factsOf({ a: '1' }, { a: '1' }, [{ group: 'a', samples: 5 }]), isMoved: true },
      groups: ['a: copy 0'],
      minSamples: 5,
    },
    {
      name: 'of chunks without new data only those that lost samples to a deletion are decoded',
      facts: factsOf({}, {}, [
        { group: 'a', samples: 5 },
        { group: 'a', samples: 6, deleted: 2 },
      ]),
      groups: ['a: copy 0 merge 1'],
      minSamples: 9,
    },
    {
      name: 'a deletion does not count as loss, nor does a group of which nothing is left',
      facts: factsOf({}, {}, [{ group: 'a', samples: 5, deleted: 5 }]),
      groups: ['a: merge 0'],
      minSamples: 0,
    },
  ])('$name', ({ facts, groups, minSamples }) => {
    const plan = planDay(facts);
    if (plan.act !== 'rewrite') throw new Error(plan.act);
    expect(
      plan.groups.map(({ group, copies, merges, readsWarm }) =>
        [
          `${group.replace(/0+$/, '')}:`,
          ...(copies.length === 0 ? [] : ['copy', ...copies.map(({ id }) => id)]),
          ...(merges.length === 0 ? [] : ['merge', ...merges.map(({ id }) => id)]),
          ...(readsWarm ? ['warm'] : []),
        ].join(' '),
      ),
    ).toEqual(groups);
    expect(plan.minSamples).toBe(minSamples);
  });
});

describe('the plan for a purge', () => {
  const parts = [{ key: 'k', etag: 'e', bytes: 1, samples: 1, firstGroup: '' }];
  const archived = { changes: 3, parts, atMs: 1_000 };
  const entry = { day: '2026-11-21', changes: 3, archived };
  const warm = revisions({ a: '1' });

  test.each([
    { name: 'nothing to do without warm items', facts: { entry, warm: new Map() }, plan: 'nothing' },
    {
      name: 'waits for a day that nobody archived',
      facts: { entry: { ...entry, archived: undefined }, warm },
      plan: 'wait',
    },
    { name: 'waits for a day that the manifest lacks', facts: { entry: undefined, warm }, plan: 'wait' },
    {
      name: 'waits for a day that was opened again',
      facts: { entry: { ...entry, changes: 4 }, warm },
      plan: 'wait',
    },
    {
      name: 'waits while a query may still read by the old manifest',
      facts: { entry, warm, nowMs: 1_499 },
      plan: 'wait',
    },
    { name: 'opens the object once it is old enough', facts: { entry, warm, nowMs: 1_500 }, plan: archived },
  ])('$name', ({ facts, plan }) => {
    expect(planPurge({ nowMs: 10_000, ageMs: 500, ...facts })).toEqual(plan);
  });

  test.each([
    { name: 'a missing object opens the day', object: undefined, plan: { act: 'reopen' } },
    {
      name: 'an object that the manifest does not name opens the day',
      object: { etag: 'other', warm: {} },
      plan: { act: 'reopen' },
    },
    {
      name: 'an item goes at the revision that the object holds, and stays at another',
      object: { etag: 'e', warm: Object.fromEntries(revisions({ a: '1', b: '1' })) },
      plan: { act: 'remove', items: revisions({ a: '1' }) },
    },
  ])('$name', ({ object, plan }) => {
    expect(planRemoval(archived.parts[0]!, object, revisions({ a: '1', b: '2', c: '1' }))).toEqual(plan);
  });
});
