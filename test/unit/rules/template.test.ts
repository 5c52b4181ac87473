import { expandAlertTemplate, parseAlertTemplate } from '../../../shared/rules/template/expand';
import { formatFloat, sprintf } from '../../../shared/rules/template/format';
import { TemplateError, TemplateSample } from '../../../shared/rules/template/values';

const NOW_MS = 1_353_755_652_000;

function expand(
  text: string,
  samples: readonly TemplateSample[] = [],
  labels: Readonly<Record<string, string>> = { job: 'api', instance: 'web1:9100' },
  value = 0.25,
): Promise<string> {
  return expandAlertTemplate(
    text,
    { labels: new Map(Object.entries(labels)), externalLabels: new Map([['region', 'eu']]), value },
    { query: async () => samples, nowMs: NOW_MS, externalUrl: 'http://host:9090/path/prefix' },
  );
}

const sample = (value: number, labels: Readonly<Record<string, string>>) =>
  new TemplateSample(new Map(Object.entries(labels)), value);

describe('the text of an alert', () => {
  test.each([
    // Variables and data.
    ['plain text, with } and {', 'plain text, with } and {'],
    ['{{ $labels.job }} at {{ $value }}', 'api at 0.25'],
    ['{{ .Labels.instance }}', 'web1:9100'],
    ['[{{ $labels.nope }}]', '[]'],
    ['{{ $externalLabels.region }} {{ $externalURL }}', 'eu http://host:9090/path/prefix'],
    ['{{ externalURL }} {{ pathPrefix }}', 'http://host:9090/path/prefix /path/prefix'],
    // Literals.
    ['{{ "<b>" }}{{ `a"b` }}{{ 1 }}{{ -2.5 }}{{ true }}{{ 0x10 }}', '<b>a"b1-2.5true16'],
    ["{{ 'a' }}", '97'],
    // Control structures.
    ['{{ if gt $value 0.2 }}high{{ else }}low{{ end }}', 'high'],
    ['{{ if false }}a{{ else if eq $labels.job "api" }}b{{ else }}c{{ end }}', 'b'],
    ['{{ with $labels.job }}<{{ . }}>{{ end }}{{ with $labels.nope }}x{{ else }}none{{ end }}', '<api>none'],
    ['{{ range $k, $v := $labels }}{{ $k }}={{ $v }};{{ end }}', 'instance=web1:9100;job=api;'],
    [
      '{{ range $i, $e := $labels }}{{ if eq $i "job" }}{{ break }}{{ end }}{{ $e }}{{ else }}-{{ end }}',
      'web1:9100',
    ],
    ['{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ $y := 3 }}{{ $y }}{{ end }}{{ $x }}', '32'],
    ['{{ define "x" }}{{ .arg0 }} {{ .arg1 }}{{ end }}{{ template "x" (args 1 "2") }}', '1 2'],
    ['{{ block "b" $value }}<{{ . }}>{{ end }}', '<0.25>'],
    ['a  {{- /* gone */ -}}  b', 'ab'],
    ['a {{- " b " -}} c', 'a b c'],
    ['{{ and 1 0 }}{{ and 1 "x" }}{{ or 0 "" }}{{ or "" "y" }}{{ not 0 }}', '0xytrue'],
    // Functions of text/template.
    [
      '{{ printf "%.2f|%5d|%-5s|%q|%x|%+d|%05.1f|%t|%v%%" 3.25 42 "a" "q" "hi" 7 2.5 true 1e6 }}',
      '3.25|   42|a    |"q"|6869|+7|002.5|true|1e+06%',
    ],
    ['{{ len "abc" }}{{ len $labels }}{{ index $labels "job" }}{{ slice "abcdef" 1 3 }}', '32apibc'],
    ['{{ print "a" 1 2 "b" }}|{{ println "a" 1 }}', 'a1 2b|a 1\n'],
    [`{{ html "<a b='c'>&" }}{{ urlquery "a b&c" }}`, '&lt;a b=&#39;c&#39;&gt;&amp;a+b%26c'],
    ['{{ eq 1 2 1 }}{{ ne "a" "b" }}{{ lt 1 2 }}{{ ge 2.5 2.5 }}', 'truetruetruetrue'],
    // Functions of Prometheus.
    [
      '{{ "foo.example.com:12345" | stripPort }} {{ "[2001:0DB8::1]:12345" | stripPort }}',
      'foo.example.com 2001:0DB8::1',
    ],
    [
      '{{ "foo.example.com:12345" | stripDomain }} {{ "192.0.2.1:1" | stripDomain }}',
      'foo:12345 192.0.2.1:1',
    ],
    [
      '{{ "[2001:0DB8::1]::12345" | stripDomain }} {{ "2001:0DB8::1" | stripPort }}',
      '[2001:0DB8::1]::12345 2001:0DB8::1',
    ],
    ['{{ reReplaceAll "(a)b" "x$1" "ab" }} {{ match "a+" "baa" }} {{ match "^a" "ba" }}', 'xa true false'],
    ['{{ "aa bb CC don\'t" | title }} {{ toUpper "aB" }} {{ toLower "aB" }}', "Aa Bb CC Don't AB ab"],
    [
      '{{ humanize 0.0 }}:{{ humanize 1234567.0 }}:{{ humanize ".12" }}:{{ humanize 9223372036854775807 }}',
      '0:1.235M:120m:9.223E',
    ],
    ['{{ humanize1024 1048576.0 }}:{{ humanize1024 0.12 }}:{{ humanize1024 -1 }}', '1Mi:0.12:-1'],
    [
      '{{ humanizeDuration 135.3563 }}:{{ humanizeDuration 86400 }}:{{ humanizeDuration 12.345 }}:{{ humanizeDuration 0.12345 }}:{{ humanizeDuration -183845 }}',
      '2m 15s:1d 0h 0m 0s:12.35s:123.5ms:-2d 3h 4m 5s',
    ],
    ['{{ 0.959 | humanizePercentage }}:{{ 1234567 | humanizePercentage }}', '95.9%:1.235e+08%'],
    ['{{ 1435065584.128 | humanizeTimestamp }}', '2015-06-23 13:19:44.128 +0000 UTC'],
    ['{{ "NaN" | humanizeTimestamp }} {{ "-Inf" | humanize }}', 'NaN -Inf'],
    [
      '{{ now }} {{ (now | toTime).Format "Mon Jan 2 15:04:05 2006" }}',
      '1.353755652e+09 Sat Nov 24 11:14:12 2012',
    ],
    ['{{ ("-30m" | parseDuration | toDuration | (now | toTime).Add).UnixMilli }}', '1353753852000'],
    ['{{ (1800 | toDuration).String }} {{ parseDuration "2h10m15s" }}', '30m0s 7815'],
    [
      '{{ graphLink "up > 1" }} {{ tableLink "up" }}',
      '/graph?g0.expr=up+%3E+1&g0.tab=0 /graph?g0.expr=up&g0.tab=1',
    ],
  ])('%s', async (text, expected) => {
    expect(await expand(text)).toBe(expected);
  });

  test('shows what a query finds', async () => {
    const found = [sample(21, { instance: 'b' }), sample(11, { instance: 'a', __value__: 'v' })];
    expect(await expand('{{ query "m" | first | value }}', found)).toBe('21');
    expect(await expand('{{ query "m" | first | label "instance" }}', found)).toBe('b');
    expect(await expand('{{ with query "m" }}{{ index . 1 | strvalue }}{{ end }}', found)).toBe('v');
    expect(
      await expand(
        '{{ range query "m" | sortByLabel "instance" }}{{ .Labels.instance }}:{{ .Value }} {{ end }}',
        found,
      ),
    ).toBe('a:11 b:21 ');
  });

  test.each([
    ['{{ query "m" | first }}', 'error calling first: first() called on vector with no elements'],
    ['{{ (query "m").banana }}', "can't evaluate field banana"],
    ['{{ humanize "one" }}', 'error calling humanize: strconv.ParseFloat: parsing "one": invalid syntax'],
    ['{{ eq 1 1.0 }}', 'incompatible types for comparison'],
    ['{{ .Foo }}', "can't evaluate field Foo"],
    ['{{ match "(" "a" }}', 'invalid regular expression'],
    ['{{ template "nope" }}', 'template "nope" not defined'],
    ['{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}', 'templates call each other'],
    ['{{ humanize }}', 'wrong number of args: want 1 got 0'],
    ['{{ toTime 1e300 }}', 'overflows int64'],
  ])('is replaced by the error if its expansion fails: %s', async (text, message) => {
    const expanded = await expand(text);
    expect(expanded).toMatch(/^<error expanding template: /);
    expect(expanded).toContain(message);
  });

  test('stops an expansion that would not end, or grows without bound', async () => {
    const many = Array.from({ length: 500 }, (_, i) => sample(i, {}));
    const nested = '{{ range query "m" }}{{ range query "m" }}{{ end }}{{ end }}';
    expect(await expand(nested, many)).toContain('steps');
    const long = '{{ range query "m" }}{{ range query "m" }}0123456789{{ end }}{{ end }}';
    expect(await expand(long, many)).toMatch(/characters|steps/);
    expect(await expand('{{ printf "%999999999d" 1 }}')).toBe('%!(BADWIDTH)');
  });

  test.each(['print $x $x', 'printf "%s%s" $x $x', 'reReplaceAll "(.*)" "$1$1" $x'])(
    'a text that %s doubles again and again is refused before memory is full',
    async (call) => {
      const text = `{{ $x := "ab" }}${`{{ $x = ${call} }}`.repeat(40)}`;
      expect(await expand(text)).toMatch(/^<error expanding template: .*more than \d+ characters>$/);
    },
  );

  test.each([
    { name: 'doubles again and again', first: '"ab"', calls: '{{ $x = args $x $x }}'.repeat(40) },
    {
      name: 'nests ever deeper',
      first: '"ab"',
      calls: '{{ range query "up" }}{{ $x = args $x }}{{ end }}',
    },
    { name: 'repeats the data', first: '. . . . . . . .', calls: '{{ $x = args $x $x }}'.repeat(40) },
  ])('a map that $name is refused before memory is full', async ({ first, calls }) => {
    const samples = new Array(10_000).fill(sample(1, {}));
    expect(await expand(`{{ $x := args ${first} }}${calls}{{ $x }}`, samples)).toMatch(
      /^<error expanding template: .*more than \d+ characters>$/,
    );
  });

  test('a map that nests as deep as is allowed is printed', async () => {
    const samples = new Array(800).fill(sample(1, {}));
    const text = `{{ $x := args 1 }}{{ range query "up" }}{{ $x = args $x }}{{ end }}{{ $x }}`;
    expect(await expand(text, samples)).toBe(`${'map[arg0:'.repeat(801)}1${']'.repeat(801)}`);
  });
});

describe('the parser of templates', () => {
  test.each([
    ['{{', 'unclosed action'],
    ['{{ $label.instance }}', 'undefined variable "$label"'],
    ['{{ $labels.quantile * 100 }}', 'unexpected "*"'],
    ['{{ nope 1 }}', 'function "nope" not defined'],
    ['{{ if 1 }}', 'unexpected end of template in {{if}}'],
    ['a\n{{ end }}', 'unexpected {{end}}'],
    ['{{ else }}', 'unexpected {{else}}'],
    ['{{ break }}', '{{break}} outside {{range}}'],
    ['{{ (1 }}', 'unclosed left paren'],
    ['{{ 08 }}', 'integer overflow: 08'],
    ['{{ -0_19 }}', 'integer overflow: -0_19'],
    ['{{ 1 ) }}', 'unexpected right paren'],
    ['{{ "a" "b" }}', 'takes no arguments'],
    ['{{ 1 | "b" }}', 'a literal cannot follow "|"'],
    ['{{ $x := 1 }}{{ define "d" }}{{ $x }}{{ end }}', 'undefined variable "$x"'],
    ['{{ with $y := 1 }}{{ end }}{{ $y }}', 'undefined variable "$y"'],
    [`{{ "${'\\q'}" }}`, 'bad escape'],
    ['{{ | }}', 'missing value'],
    ['{{ }}{{ /* x }}', 'unexpected "/"'],
    ['x'.repeat(65_537), 'at most 65536'],
    [`{{ ${'('.repeat(200)}1${')'.repeat(200)} }}`, 'nested deeper than 100'],
  ])('refuses %p', (text, message) => {
    expect(() => parseAlertTemplate(text)).toThrow(TemplateError);
    expect(() => parseAlertTemplate(text)).toThrow(message);
  });

  test('names the line of a fault', () => {
    expect(() => parseAlertTemplate('a\n\n{{ nope }}')).toThrow(/^3: function "nope"/);
  });
});

describe("Go's numbers", () => {
  test.each([
    [1e6, 'g', -1, '1e+06'],
    [123456, 'g', -1, '123456'],
    [1e-5, 'g', -1, '1e-05'],
    [0.0001, 'g', -1, '0.0001'],
    [1e21, 'g', -1, '1e+21'],
    [0, 'g', -1, '0'],
    [-0, 'g', -1, '-0'],
    [5e-324, 'g', -1, '5e-324'],
    [2.5, 'f', 0, '2'],
    [3.5, 'f', 0, '4'],
    [0.5, 'f', 0, '0'],
    [0.6, 'f', 0, '1'],
    [9.96, 'f', 1, '10.0'],
    [1.005, 'f', 2, '1.00'],
    [1e22, 'f', 2, '10000000000000000000000.00'],
    [1234.5678, 'e', 3, '1.235e+03'],
    [0, 'e', 2, '0.00e+00'],
    [100000, 'g', 4, '1e+05'],
    [1000, 'g', 4, '1000'],
    [999950, 'g', 4, '1e+06'],
  ] as const)('writes %p as %%%s with precision %p', (value, verb, precision, text) => {
    expect(formatFloat(value, verb, precision)).toBe(text);
  });

  test.each([
    ['%d', [1.5], '%!d(float64=1.5)'],
    ['%s %s', ['a'], 'a %!s(MISSING)'],
    ['%s', ['a', 1n], 'a%!(EXTRA int=1)'],
    ['%', [], '%!(NOVERB)'],
    [
      '%e|%G|%X|%o|%b|%c|%U',
      [1500, 1e-7, 255n, 8n, 5n, 65n, 0x1f600n],
      '1.500000e+03|1E-07|FF|10|101|A|U+1F600',
    ],
    ['%8.3f|%-8.3f|% d|%08.2f', [3.25, 3.25, 7n, -3.25], '   3.250|3.250   | 7|-0003.25'],
    ['%.2s|%T', ['héé', 1.5], 'hé|float64'],
  ])('formats %p', (format, values, text) => {
    expect(sprintf(format, values)).toBe(text);
  });
});
