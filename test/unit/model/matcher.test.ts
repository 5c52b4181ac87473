import fc from 'fast-check';
import { RE2JS } from 're2js';
import { compileMatcher, equals, isIn, type Matcher, seriesTest } from '../../../shared/model/matcher';
import { InvalidPatternError, valuePattern } from '../../../shared/model/value-pattern';

const regex = (value: string): Matcher => ({ label: 'host', op: '=~', value });

test.each<{ matcher: Matcher; passes: string[]; fails: string[] }>([
  { matcher: equals('host', 'web'), passes: ['web'], fails: ['', 'web1', 'Web'] },
  { matcher: { label: 'host', op: '!=', value: 'web' }, passes: ['', 'db'], fails: ['web'] },
  { matcher: isIn('host', ['a', 'b']), passes: ['a', 'b'], fails: ['', 'a|b'] },
  { matcher: regex('web'), passes: ['web'], fails: ['web1', 'aweb'] },
  { matcher: regex('web|db'), passes: ['web', 'db'], fails: ['webdb', ''] },
  { matcher: regex('(web|db)'), passes: ['web', 'db'], fails: ['(web|db)'] },
  { matcher: regex('web|'), passes: ['web', ''], fails: ['x'] },
  { matcher: regex('.*'), passes: ['', 'a\nb', '😀'], fails: [] },
  { matcher: regex('.+'), passes: ['a', '\n'], fails: [''] },
  { matcher: regex('a.b'), passes: ['a\nb', 'a😀b'], fails: ['ab', 'a..b'] },
  { matcher: regex('web-.*|db'), passes: ['web-', 'web-1', 'db'], fails: ['web', 'db1'] },
  { matcher: regex('.*a.+a.*'), passes: ['aba', 'xaaax'], fails: ['aa', 'a'] },
  { matcher: regex('a.*ab'), passes: ['aab', 'axab'], fails: ['ab'] },
  { matcher: regex('10\\.0\\.0\\.1:.*'), passes: ['10.0.0.1:9100'], fails: ['10x0x0x1:9100'] },
  { matcher: regex('web[0-9]{2}'), passes: ['web01'], fails: ['web1', 'web012'] },
  { matcher: regex('(?i)web'), passes: ['WEB'], fails: ['db'] },
  { matcher: regex('(?:a|b)c'), passes: ['ac', 'bc'], fails: ['a', 'c'] },
  { matcher: regex('\\Qa.b\\E'), passes: ['a.b'], fails: ['axb'] },
  { matcher: { label: 'host', op: '!~', value: 'web.*' }, passes: ['', 'db'], fails: ['web', 'web1'] },
])('$matcher', ({ matcher, passes, fails }) => {
  const { test, acceptsEmpty } = compileMatcher(matcher);
  expect(passes.filter((value) => !test(value))).toEqual([]);
  expect(fails.filter(test)).toEqual([]);
  expect(acceptsEmpty).toBe(passes.includes(''));
});

test.each<[matcher: Matcher, values: string[] | undefined, prefix: string]>([
  [equals('host', 'web'), ['web'], 'web'],
  [isIn('host', ['a', 'b']), ['a', 'b'], ''],
  [regex('a|b\\.c'), ['a', 'b.c'], ''],
  [regex('web'), ['web'], 'web'],
  [regex('web-.*'), undefined, 'web-'],
  [regex('web[0-9]+'), undefined, 'we'],
  [regex('web?'), undefined, 'we'],
  [regex('web[0-9]|x'), undefined, ''],
  [regex('(?i)web'), undefined, ''],
  [{ label: 'host', op: '!~', value: 'web' }, undefined, ''],
])('%j lists its values or their beginning for an index', (matcher, values, prefix) => {
  expect(compileMatcher(matcher)).toMatchObject({ values, prefix });
});

test('a label that a series lacks is empty', () => {
  const isMatch = seriesTest([
    equals('__name__', 'up'),
    { label: 'job', op: '=~', value: '|api' },
    { label: 'zone', op: '!=', value: 'a' },
  ]);
  expect(isMatch([['__name__', 'up']])).toBe(true);
  const named = (job: string) =>
    [
      ['__name__', 'up'],
      ['job', job],
    ] as const;
  expect(isMatch(named('api'))).toBe(true);
  expect(isMatch(named('db'))).toBe(false);
});

test.each([
  ['(', 'missing closing )'],
  ['a**', 'invalid nested repetition operator: `**`'],
  ['a(?=b)', 'invalid or unsupported Perl syntax: `(?=`'],
  ['(a)\\1', 'invalid escape sequence: `\\1`'],
  ['(x{1000}){10}', 'invalid repeat count: `{10}`'],
  ['\\é', 'invalid escape sequence'],
  [`[ab]{900}[ab]{900}[ab]{900}`, 'compiles to 2702 instructions; at most 2000 are allowed'],
  [
    `[ab]${'c'.repeat(20_000)}`,
    'has 20004 characters; at most 20000 are allowed where it is no list of words',
  ],
  ['a'.repeat(200_000), 'has 200000 characters; at most 131072 are allowed'],
  ['('.repeat(5000) + ')'.repeat(5000), 'nests too deeply'],
])('refuses an expression of wrong syntax or beyond a limit: row %#', (expression, message) => {
  expect(() => valuePattern(expression)).toThrow(InvalidPatternError);
  expect(() => valuePattern(expression)).toThrow(message);
});

test.each(['(a+)+$', '(a|aa)*c', '(.*a){20}b', '(a?){300}a{300}', '.*a.*a.*a.*a.*a.*a.*a.*b'])(
  '%s tests a value without backtracking',
  (expression) => {
    const { test } = valuePattern(expression);
    // Backtracking would take longer than the universe has existed.
    expect(typeof test('a'.repeat(2000))).toBe('boolean');
  },
);

test('globs and lists of words match as the automaton does', () => {
  const piece = fc.constantFrom(
    'a',
    'b',
    'ab',
    '.*',
    '.+',
    '\\.',
    '|',
    '(',
    ')',
    '(?:',
    '.',
    '*',
    '?',
    '[ab]',
  );
  const value = fc.string({ unit: fc.constantFrom('a', 'b', '.', '\n'), maxLength: 8 });
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), fc.array(value, { maxLength: 20 }), (pieces, values) => {
      const expression = pieces.join('');
      let expected: RE2JS | undefined;
      try {
        expected = RE2JS.compile(expression, RE2JS.DOTALL);
      } catch {
        expect(() => valuePattern(expression)).toThrow(InvalidPatternError);
        return;
      }
      const { test, prefix, values: listed } = valuePattern(expression);
      for (const each of [...values, '', 'a', 'ab']) {
        expect([expression, each, test(each)]).toEqual([expression, each, expected.testExact(each)]);
        if (test(each)) {
          expect(each.startsWith(prefix)).toBe(true);
          expect(listed?.includes(each) ?? true).toBe(true);
        }
      }
    }),
    { numRuns: 1000 },
  );
});
