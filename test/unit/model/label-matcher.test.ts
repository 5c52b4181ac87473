import { MatcherError, parseLabelMatcher } from '../../../shared/model/label-matcher';

test.each([
  { text: 'severity="page"', matcher: { label: 'severity', op: '=', value: 'page' } },
  { text: ' job =~ "a|b" ', matcher: { label: 'job', op: '=~', value: 'a|b' } },
  { text: 'team!=web', matcher: { label: 'team', op: '!=', value: 'web' } },
  { text: 'team!~w.*', matcher: { label: 'team', op: '!~', value: 'w.*' } },
  { text: 'a=""', matcher: { label: 'a', op: '=', value: '' } },
  { text: 'a=', matcher: { label: 'a', op: '=', value: '' } },
  {
    text: '"host.name"="a \\"b\\" \\\\ \\n"',
    matcher: { label: 'host.name', op: '=', value: 'a "b" \\ \n' },
  },
])('$text is a matcher', ({ text, matcher }) => {
  expect(parseLabelMatcher(text)).toEqual(matcher);
});

test.each(['', 'a', '="x"', 'a="x', 'a="x"y', 'a b="x"', '{a="x"}'])('%j is refused as a matcher', (text) => {
  expect(() => parseLabelMatcher(text)).toThrow(MatcherError);
});

test.each([
  { name: 'spaces before a quote', text: `a=${' '.repeat(100_000)}"` },
  { name: 'spaces inside a value', text: `a=b${' '.repeat(100_000)}"` },
  { name: 'spaces alone', text: ' '.repeat(100_000) },
  { name: 'escapes without an end', text: `a="${'\\\\'.repeat(50_000)}` },
])('a hostile text of 100,000 characters is refused: $name', ({ text }) => {
  expect(() => parseLabelMatcher(text)).toThrow(MatcherError);
});
