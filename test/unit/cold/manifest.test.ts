import type { ArchivedPart } from '../../../shared/cold/archived-day';
import { partsOf } from '../../../shared/cold/manifest';

const part = (firstGroup: string): ArchivedPart => ({
  key: `key of ${firstGroup}`,
  etag: `"${firstGroup}"`,
  bytes: 1,
  samples: 1,
  firstGroup,
});

describe('an archived day', () => {
  test.each([
    { name: 'one part has every group', firsts: [''], groups: ['a', 'z'], parts: [''] },
    { name: 'a part has its first group', firsts: ['', 'm'], groups: ['m'], parts: ['m'] },
    { name: 'a part ends before the next one begins', firsts: ['', 'm'], groups: ['l'], parts: [''] },
    { name: 'the first part has what comes before it', firsts: ['c', 'm'], groups: ['a'], parts: ['c'] },
    {
      name: 'each part is read once, in order',
      firsts: ['', 'd', 'm', 'x'],
      groups: ['z', 'e', 'd', 'y'],
      parts: ['d', 'x'],
    },
    { name: 'no groups need no part', firsts: ['', 'm'], groups: [], parts: [] },
  ])('$name', ({ firsts, groups, parts }) => {
    expect(partsOf({ parts: firsts.map(part) }, groups).map(({ firstGroup }) => firstGroup)).toEqual(parts);
  });
});
