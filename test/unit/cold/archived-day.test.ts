import { CorruptArchiveError } from '../../../shared/cold/archive-format';
import {
  type ArchivedPart,
  type DayCommit,
  decodeArchived,
  encodeArchived,
} from '../../../shared/cold/archived-day';
import { groupIdOf } from '../../../shared/model/placement';
import { bucketKeys } from '../../../shared/platform/keys';

const ref = { tenantId: 'TTTTTTTTTTTTTTTTTTTTTT', partition: 17 };
const DAY = '2026-11-22';

function part(unique: string, firstGroup: string, etag = '"0123456789abcdef0123456789abcdef"'): ArchivedPart {
  return {
    key: bucketKeys.archive(ref, DAY, 3, unique),
    etag,
    bytes: 1_234_567,
    samples: 144_000,
    firstGroup,
  };
}

const ONE: DayCommit = { announcements: 4, atMs: 1_795_459_200_000, parts: [part('aB3dE6gH9jK', '')] };
const SECOND = part('mN3pQ6sT9vW', groupIdOf('abcdefghijklmnopqrstuv', 2, 1), '"fedcba98-2"');
const TWO: DayCommit = { ...ONE, parts: [...ONE.parts, SECOND] };

/** Version 1, as the first release wrote it. */
const GOLDEN =
  '1 4fea369a2ab5784d 4 1795459200000 3-aB3dE6gH9jK 0123456789abcdef0123456789abcdef 1234567 144000 ';

describe("a day's entry of the manifest", () => {
  test('has the bytes of version 1', () => {
    expect(encodeArchived(ref, DAY, ONE)).toBe(GOLDEN);
  });

  test.each([
    { name: 'of one part', commit: ONE },
    { name: 'of several parts', commit: TWO },
  ])('$name is decoded as it was encoded', ({ commit }) => {
    const { identity, ...decoded } = decodeArchived(ref, DAY, encodeArchived(ref, DAY, commit));
    expect(decoded).toEqual(commit);
    expect(identity).toMatch(/^[0-9a-f]{16}$/);
  });

  test('has another identity when any of its objects is another, and only then', () => {
    const identityOf = (commit: DayCommit) =>
      decodeArchived(ref, DAY, encodeArchived(ref, DAY, commit)).identity;
    expect(identityOf({ ...TWO, parts: [ONE.parts[0]!, { ...SECOND, etag: '"c"' }] })).not.toBe(
      identityOf(TWO),
    );
    expect(identityOf(TWO)).not.toBe(identityOf(ONE));
    expect(identityOf({ ...TWO, announcements: 9, atMs: 1 })).toBe(identityOf(TWO));
  });

  test('of an unknown version is refused', () => {
    expect(() => decodeArchived(ref, DAY, GOLDEN.replace('1', '2'))).toThrow(CorruptArchiveError);
    expect(() => decodeArchived(ref, DAY, '{"changes":1}')).toThrow(/2026-11-22.*version/);
  });
});
