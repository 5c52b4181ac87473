import {
  EXPIRED_RETENTION_MS,
  expireSilence,
  MAX_SILENCES,
  putSilence,
  type Silence,
  type SilenceMatcher,
  type SilenceRequest,
  shownSilences,
  silenceState,
  silenceTest,
} from '../../../../shared/alerting/delivery/silences';
import { labelsOf } from '../../../../shared/model/labels';

const NOW_MS = Date.parse('2026-11-23T12:00:00Z');
const HOUR_MS = 3_600_000;

const matcher = (name: string, value: string, fields: Partial<SilenceMatcher> = {}): SilenceMatcher => ({
  name,
  value,
  isRegex: false,
  isEqual: true,
  ...fields,
});
const request = (fields: Partial<SilenceRequest> = {}): SilenceRequest => ({
  matchers: [matcher('job', 'shop')],
  startsAtMs: NOW_MS - HOUR_MS,
  endsAtMs: NOW_MS + HOUR_MS,
  createdBy: 'ann',
  comment: 'upgrade',
  ...fields,
});
const put = (
  silences: readonly Silence[],
  id: string | undefined,
  fields = {},
  nowMs = NOW_MS,
  newId = 'new',
) => putSilence(silences, id, request(fields), newId, nowMs)!;

describe('a silence', () => {
  test('that begins in the past begins now', () => {
    const { silences, id } = put([], undefined);
    expect(id).toBe('new');
    expect(silences).toEqual([{ ...request(), id: 'new', startsAtMs: NOW_MS, updatedAtMs: NOW_MS }]);
  });

  test('is pending, then active, then expired', () => {
    const [silence] = put([], undefined, { startsAtMs: NOW_MS + 1 }).silences;
    const at = [NOW_MS, NOW_MS + 1, NOW_MS + HOUR_MS - 1, NOW_MS + HOUR_MS];
    expect(at.map((ms) => silenceState(silence!, ms))).toEqual(['pending', 'active', 'active', 'expired']);
  });

  test('is shown for five days after its end', () => {
    const { silences } = put([], undefined);
    const goneMs = NOW_MS + HOUR_MS + EXPIRED_RETENTION_MS;
    expect(shownSilences(silences, goneMs - 1)).toHaveLength(1);
    expect(shownSilences(silences, goneMs)).toEqual([]);
  });

  test.each([
    { name: 'without time', fields: { startsAtMs: NOW_MS, endsAtMs: NOW_MS }, says: 'must be before end' },
    { name: 'of the past', fields: { endsAtMs: NOW_MS - 1 }, says: "can't be in the past" },
    { name: 'of everything', fields: { matchers: [matcher('a', '')] }, says: 'not match the empty string' },
    {
      name: 'of everything by a regular expression',
      fields: { matchers: [matcher('a', '.*', { isRegex: true }), matcher('b', 'x', { isEqual: false })] },
      says: 'not match the empty string',
    },
    {
      name: 'with a bad regular expression',
      fields: { matchers: [matcher('a', 'b(', { isRegex: true })] },
      says: 'matchers.0.value: ',
    },
  ])('$name is refused', ({ fields, says }) => {
    expect(() => put([], undefined, fields)).toThrow(says);
  });

  test('is changed under its id, unless that would falsify its past', () => {
    const { silences } = put([], undefined, {}, NOW_MS, 'a');
    const longer = { startsAtMs: NOW_MS, endsAtMs: NOW_MS + 2 * HOUR_MS, comment: 'longer' };
    const laterMs = NOW_MS + 1_000;
    const changed = put(silences, 'a', longer, laterMs);
    expect(changed).toMatchObject({
      id: 'a',
      silences: [{ id: 'a', comment: 'longer', updatedAtMs: laterMs }],
    });
    const other = put(silences, 'a', { ...longer, matchers: [matcher('job', 'blog')] }, laterMs);
    expect(other.id).toBe('new');
    expect(other.silences.map((each) => [each.id, silenceState(each, laterMs)])).toEqual([
      ['a', 'expired'],
      ['new', 'active'],
    ]);
    expect(putSilence(silences, 'unknown', request(), 'new', NOW_MS)).toBeUndefined();
  });

  test('that has expired is not changed: a new one begins', () => {
    const { silences } = put([], undefined, {}, NOW_MS, 'a');
    const again = put(silences, 'a', { endsAtMs: NOW_MS + 3 * HOUR_MS }, NOW_MS + 2 * HOUR_MS);
    expect(again.silences.map(({ id }) => id)).toEqual(['a', 'new']);
  });

  test('is ended by its id, once', () => {
    const { silences } = put([], undefined, { startsAtMs: NOW_MS + 1_000 }, NOW_MS, 'a');
    const ended = expireSilence(silences, 'a', NOW_MS + 500)!;
    expect(ended).toMatchObject([{ startsAtMs: NOW_MS + 500, endsAtMs: NOW_MS + 500 }]);
    expect(expireSilence(ended, 'a', NOW_MS + 900)).toEqual(ended);
    expect(expireSilence(silences, 'b', NOW_MS)).toBeUndefined();
  });
});

describe('the silences of a tenant', () => {
  const many = (count: number): readonly Silence[] =>
    Array.from({ length: count }, (_, i) => ({
      ...request({ startsAtMs: NOW_MS - HOUR_MS }),
      id: String(i),
      updatedAtMs: NOW_MS,
    }));

  test('are limited by number and by size', () => {
    expect(() => put(many(MAX_SILENCES), undefined)).toThrow('200 silences');
    expect(put(many(MAX_SILENCES - 1), undefined).silences).toHaveLength(MAX_SILENCES);
    const long = many(150).map((each) => ({ ...each, comment: 'x'.repeat(3_000) }));
    expect(() => put(long, undefined)).toThrow('at most 350000 are allowed');
  });

  test('make room for new ones: the earliest expired is removed first', () => {
    const expired = Array.from({ length: 500 }, (_, i) => ({
      ...many(1)[0]!,
      id: `e${i}`,
      endsAtMs: NOW_MS - i,
    }));
    const { silences } = put(expired, undefined);
    expect(silences).toHaveLength(400);
    expect(silences.map(({ id }) => id)).toEqual([...expired.slice(0, 399).map(({ id }) => id), 'new']);
  });

  test('hold back an alert that satisfies all matchers of one that is active', () => {
    const silences: Silence[] = [
      { ...many(1)[0]!, id: 'a' },
      {
        ...many(1)[0]!,
        id: 'regex',
        matchers: [matcher('job', 'sh.p', { isRegex: true }), matcher('team', 'web')],
      },
      {
        ...many(1)[0]!,
        id: 'not',
        matchers: [matcher('job', 'shop', { isEqual: false }), matcher('x', '1')],
      },
      { ...many(1)[0]!, id: 'later', startsAtMs: NOW_MS + 1 },
    ];
    const test = silenceTest(silences, NOW_MS);
    expect(test(labelsOf(['job', 'shop']))).toEqual(['a']);
    expect(test(labelsOf(['job', 'shop'], ['team', 'web']))).toEqual(['a', 'regex']);
    expect(test(labelsOf(['job', 'blog'], ['x', '1']))).toEqual(['not']);
    expect(test(labelsOf(['job', 'blog']))).toEqual([]);
  });
});
