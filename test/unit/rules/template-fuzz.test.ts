import fc from 'fast-check';
import { expandAlertTemplate, parseAlertTemplate } from '../../../shared/rules/template/expand';
import { TemplateError, TemplateSample } from '../../../shared/rules/template/values';
import { anyCharacter } from '../../support/any-text';

const RUNS = { numRuns: 2_000 };

/** Parts of templates, most of which are valid. */
const piece = fc.oneof(
  fc.constantFrom(
    ...['{{', '}}', '{{-', '-}}', '{{ end }}', '{{ else }}', '{{ $value }}', '{{ . }}', '{{ $labels.job }}'],
    ...[
      '{{ range query "x" }}',
      '{{ with .Labels }}',
      '{{ if $value }}',
      '{{ define "t" }}',
      '{{ template "t" . }}',
    ],
    ...[
      '{{ template "t" }}',
      '{{ block "t" . }}',
      '{{ break }}',
      '{{ $a := 1 }}',
      '{{ $a = 2 }}',
      '{{ $a }}',
    ],
    ...[
      '{{ printf "%d %v %x %q" $value 1 "a" nil }}',
      '{{ printf "%999999999d" 1 }}',
      '{{ index .Labels "x" }}',
    ],
    ...['{{ slice "abc" 1 9 }}', '{{ humanize "x" }}', '{{ humanizeDuration 1e300 }}', '{{ toTime "x" }}'],
    ...['{{ reReplaceAll "(a*)*b" "$1" "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" }}', '{{ match "(" "a" }}'],
    ...[
      '{{ first (query "x") | value }}',
      '{{ sortByLabel "job" (query "x") }}',
      '{{ args 1 2 }}',
      '{{ call 1 }}',
    ],
    ...[
      '{{ /* comment */ }}',
      '{{ len "x" | printf "%s" }}',
      '{{ and 1 0 | or }}',
      '{{ eq 1 1.0 "a" }}',
      '"',
      '`',
      "'",
    ],
  ),
  fc.string({ unit: anyCharacter, maxLength: 10 }),
  fc.double().map((value) => `{{ humanize ${value} }}`),
  fc.string({ maxLength: 20 }).map((text) => `{{ ${text} }}`),
);

test('any template is refused when it is parsed, or expands to a text', async () => {
  let refused = 0;
  let expanded = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 8 }), fc.double(), async (pieces, value) => {
      const text = pieces.join('');
      try {
        parseAlertTemplate(text);
      } catch (error) {
        expect(error).toBeInstanceOf(TemplateError);
        refused++;
        return;
      }
      const labels = new Map([
        ['job', 'shop'],
        ['__proto__', 'x'],
      ]);
      const result = await expandAlertTemplate(
        text,
        { labels, externalLabels: new Map(), value },
        {
          query: async () => [new TemplateSample(labels, value), new TemplateSample(new Map(), 1)],
          nowMs: 1_700_000_000_000,
          externalUrl: 'https://api',
        },
      );
      expect(typeof result).toBe('string');
      expanded++;
    }),
    RUNS,
  );
  expect(refused).toBeGreaterThan(RUNS.numRuns / 20);
  expect(expanded).toBeGreaterThan(RUNS.numRuns / 20);
});
