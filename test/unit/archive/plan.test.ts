import {
  changedGroups,
  partLimit,
  planPart,
  planPurge,
  planRanges,
  planRemoval,
} from '../../../shared/archive/plan';
import type { ArchivedChunk } from '../../../shared/cold/archive-format';
import { warmKeys } from '../../../shared/platform/keys';

/** A group id of 27 characters. */
const groupOf = (name: string) => name.padEnd(27, '0');
const sortKey = (name: string, windowStart = 0) =>
  warmKeys.sort({ group: groupOf(name), windowStart, layer: 0, startMs: windowStart });
/** `{ a: '1' }` means that the warm item of group a has the revision 1. */
const revisions = (items: Readonly<Record<string, string>>) =>
  new Map(Object.entries(items).map(([name, revision]) => [sortKey(name), revision]));

interface Stored {
  readonly group: string;
  readonly samples: number;
  readonly deleted?: number;
}

/** @param held the warm items that the object of the part contains */
function factsOf(
  warm: Readonly<Record<string, string>>,
  held: Readonly<Record<string, string>> = {},
  chunks: readonly Stored[] = [],
) {
  return {
    changed: changedGroups(revisions(warm), Object.fromEntries(revisions(held))),
    chunks: chunks.map(({ group, samples, deleted = 0 }, id) => ({
      chunk: { offset: id, group: groupOf(group), samples } as ArchivedChunk,
      deleted,
    })),
    isCut: false,
  };
}

describe('the plan for a part of an open day', () => {
  test.each([
    {
      name: 'an object that holds every warm item at its revision stays as it is',
      facts: factsOf({ a: '1' }, { a: '1', purged: '1' }, [{ group: 'a', samples: 7 }]),
    },
    {
      name: 'an object whose warm items were all purged stays as it is',
      facts: factsOf({}, { a: '1' }, [{ group: 'a', samples: 7 }]),
    },
  ])('$name', ({ facts }) => {
    expect(planPart(facts)).toBeUndefined();
  });

  test.each([
    {
      name: 'an item of another revision is merged with every chunk of its group',
      facts: factsOf({ a: '2' }, { a: '1' }, [
        { group: 'a', samples: 5 },
        { group: 'a', samples: 6 },
      ]),
      groups: ['a: merge 0 1 warm >= 11'],
    },
    {
      name: 'a group whose items the object holds already is copied, though another group changed',
      facts: factsOf({ a: '1', b: '2' }, { a: '1', b: '1' }, [
        { group: 'a', samples: 5 },
        { group: 'b', samples: 6 },
      ]),
      groups: ['a: copy 0 >= 5', 'b: merge 1 warm >= 6'],
    },
    {
      name: 'a group without warm items is copied, a new group is read',
      facts: factsOf({ b: '1' }, {}, [{ group: 'a', samples: 5 }]),
      groups: ['a: copy 0 >= 5', 'b: warm >= 0'],
    },
    {
      name: 'an object of another format is taken over whole, though nothing changed',
      facts: { ...factsOf({ a: '1' }, { a: '1' }, [{ group: 'a', samples: 5 }]), isCut: true },
      groups: ['a: copy 0 >= 5'],
    },
    {
      name: 'of chunks without new data only those that lost samples to a deletion are decoded',
      facts: factsOf({}, {}, [
        { group: 'a', samples: 5 },
        { group: 'a', samples: 6, deleted: 2 },
      ]),
      groups: ['a: copy 0 merge 1 >= 9'],
    },
    {
      name: 'neither a deletion nor a group without remaining samples counts as a loss',
      facts: factsOf({}, {}, [{ group: 'a', samples: 5, deleted: 5 }]),
      groups: ['a: merge 0 >= 0'],
    },
  ])('$name', ({ facts, groups }) => {
    expect(
      planPart(facts)!.map(({ group, copies, merges, readsWarm, minSamples }) =>
        [
          `${group.replace(/0+$/, '')}:`,
          ...(copies.length === 0 ? [] : ['copy', ...copies.map(({ offset }) => offset)]),
          ...(merges.length === 0 ? [] : ['merge', ...merges.map(({ offset }) => offset)]),
          ...(readsWarm ? ['warm'] : []),
          `>= ${minSamples}`,
        ].join(' '),
      ),
    ).toEqual(groups);
  });
});

describe('the ranges of an open day', () => {
  const part = (firstGroup: string) => ({ key: firstGroup, etag: 'e', bytes: 1, samples: 1, firstGroup });
  test.each([
    { name: 'a day that was never archived is one range', firsts: [], next: '', ranges: ['..'] },
    { name: 'a day goes on where an attempt stopped', firsts: [], next: 'm', ranges: ['m.. cut'] },
    {
      name: 'a part has the groups before the next part',
      firsts: ['', 'm'],
      next: '',
      ranges: ['..m', 'm..'],
    },
    {
      name: 'the groups that an attempt has are left out',
      firsts: ['', 'm', 'x'],
      next: 'm',
      ranges: ['m..x', 'x..'],
    },
    {
      name: 'the rest of a part that an attempt has cut remains',
      firsts: ['', 'm'],
      next: 'd',
      ranges: ['d..m cut', 'm..'],
    },
    {
      name: 'the first part also has the groups before its first group',
      firsts: ['c', 'm'],
      next: '',
      ranges: ['..m', 'm..'],
    },
  ])('$name', ({ firsts, next, ranges }) => {
    const found = planRanges(firsts.map(part), next);
    expect(found.map(({ from, to, isCut }) => `${from}..${to ?? ''}${isCut ? ' cut' : ''}`)).toEqual(ranges);
  });

  test.each([
    { name: 'a new part ends at the size of a part', bytes: undefined, limit: 100 },
    { name: 'a part that is rewritten may grow to twice the size', bytes: 100, limit: 200 },
    { name: 'a part that has grown by more than half is split', bytes: 151, limit: 100 },
  ])('$name', ({ bytes, limit }) => {
    expect(partLimit(bytes === undefined ? undefined : { bytes }, 100)).toBe(limit);
  });
});

describe('the plan for a purge', () => {
  const parts = [{ key: 'k', etag: 'e', bytes: 1, samples: 1, firstGroup: '' }];
  const archived = { identity: '', announcements: 3, parts, atMs: 1_000 };
  const entry = { day: '2026-11-21', announcements: 3, archived };

  test.each([
    {
      name: 'waits for a day that nobody archived',
      facts: { entry: { ...entry, archived: undefined } },
      plan: undefined,
    },
    { name: 'waits for a day that the manifest lacks', facts: { entry: undefined }, plan: undefined },
    {
      name: 'waits for a day that was opened again',
      facts: { entry: { ...entry, announcements: 4 } },
      plan: undefined,
    },
    {
      name: 'waits while a query may still read by the old manifest',
      facts: { entry, nowMs: 1_499 },
      plan: undefined,
    },
    { name: 'opens the object once it is old enough', facts: { entry, nowMs: 1_500 }, plan: archived },
  ])('$name', ({ facts, plan }) => {
    expect(planPurge({ nowMs: 10_000, ageMs: 500, ...facts })).toEqual(plan);
  });

  test.each([
    { name: 'a missing object opens the day', object: undefined, plan: undefined },
    {
      name: 'an object that the manifest does not name opens the day',
      object: { etag: 'other', warm: {} },
      plan: undefined,
    },
    {
      name: 'an item goes at the revision that the object holds, and stays at another',
      object: { etag: 'e', warm: Object.fromEntries(revisions({ a: '1', b: '1' })) },
      plan: revisions({ a: '1' }),
    },
  ])('$name', ({ object, plan }) => {
    expect(planRemoval(archived.parts[0]!, object, revisions({ a: '1', b: '2', c: '1' }))).toEqual(plan);
  });
});
