import fc from 'fast-check';
import { PromqlError } from '../../../shared/promql/errors';
import { parsePromql, parseSelector } from '../../../shared/promql/parser';
import { prettyPromql, printPromql } from '../../../shared/promql/print';
import { PromqlExpressions } from '../../support/promql-expressions';

test.each([
  ['1', '1'],
  ['1 + 2 * 3 ^ 2 ^ 3', '1 + 2 * 3 ^ 2 ^ 3'],
  ['-2^2', '-2 ^ 2'],
  ['- 2', '-2'],
  ['0x1F', '31'],
  ['0X_1F', '31'],
  ['1_000', '1000'],
  ['.5', '0.5'],
  ['5.', '5'],
  ['017', '15'],
  ['08', '8'],
  ['1e-7', '1e-07'],
  ['iNf', '+Inf'],
  ['NAN', 'NaN'],
  ['1h30m', '5400'],
  ['"a\\x41\\101\\u00e9\\n" ', '"aAAé\\n"'],
  ["'it\\'s'", '"it\'s"'],
  ['`a\\b`', '"a\\\\b"'],
  ['foo # comment\n+ bar', 'foo + bar'],
  ['foo:bar{a="b",c!~"d.*",}', 'foo:bar{a="b",c!~"d.*"}'],
  ['{"a.b"}', '{"a.b"}'],
  ['{"a.b", c="d"}', '{"a.b",c="d"}'],
  ['{"a b"="c"}', '{"a b"="c"}'],
  ['{__name__="up"}', '{__name__="up"}'],
  ['offset offset 5m', 'offset offset 5m'],
  ['by + sum', 'by + sum'],
  ['start{a="b"}', 'start{a="b"}'],
  ['foo[5m] offset 1w @ 12.5', 'foo[5m] @ 12.500 offset 1w'],
  ['foo @ start() offset -90s', 'foo @ start() offset -1m30s'],
  ['foo[300]', 'foo[5m]'],
  ['foo[5m*2]', 'foo[5m * 2]'],
  ['foo offset (1h/2)', 'foo offset (1h / 2)'],
  ['foo offset -2^2', 'foo offset -2s ^ 2'],
  ['(foo)[5m:]', '(foo)[5m:]'],
  ['rate(foo[5m])[1h:1m] offset 5m', 'rate(foo[5m])[1h:1m] offset 5m'],
  ['SUM by (a, "b.c") (foo)', 'sum by (a, "b.c") (foo)'],
  ['sum(foo) without (a)', 'sum without (a) (foo)'],
  ['topk by (job) (3, foo)', 'topk by (job) (3, foo)'],
  ['a * on (x) group_left (y) b', 'a * on (x) group_left (y) b'],
  ['a == bool ignoring (x) b', 'a == bool ignoring (x) b'],
  ['a AND on () b', 'a and on () b'],
  ['a atan2 b', 'a atan2 b'],
  ['a + b or c unless d and e', 'a + b or c unless d and e'],
  ['time()', 'time()'],
  ['days_in_month()', 'days_in_month()'],
  ['label_join(foo, "a", "-")', 'label_join(foo, "a", "-")'],
  ['-foo[5m:]', '-foo[5m:]'],
])('%s reads as %s', (text, printed) => {
  // A unary minus on a range is refused only where its type is checked.
  if (text.startsWith('-foo')) expect(() => parsePromql(text)).toThrow('unary expression only allowed');
  else expect(printPromql(parsePromql(text))).toBe(printed);
});

test('operators bind as Prometheus documents', () => {
  const shape = (text: string): string => {
    const walk = (expr: ReturnType<typeof parsePromql>): string =>
      expr.kind === 'binary'
        ? `(${walk(expr.left)}${expr.op}${walk(expr.right)})`
        : expr.kind === 'unary'
          ? `(${expr.op}${walk(expr.expr)})`
          : printPromql(expr);
    return walk(parsePromql(text));
  };
  expect(shape('-2^2')).toBe('(-(2^2))');
  expect(shape('a^b^c')).toBe('(a^(b^c))');
  expect(shape('a-b-c')).toBe('((a-b)-c)');
  expect(shape('-a*b')).toBe('((-a)*b)');
  expect(shape('2^-a*b')).toBe('((2^(-a))*b)');
  expect(shape('a or b and c')).toBe('(a or(b and c))'.replaceAll(' ', ''));
  expect(shape('a+b>c*d atan2 e')).toBe('((a+b)>((c*d)atan2e))');
  expect(shape('a unless b and c')).toBe('((aunlessb)andc)');
});

test.each([
  ['', 'unknown position: parse error: no expression found in input'],
  ['foo{', '1:5: parse error: unexpected end of input in label matching, expected identifier or "}"'],
  ['foo{a}', '1:6: parse error: unexpected "}" in label matching, expected label matching operator'],
  ['foo{a=b}', '1:7: parse error: unexpected identifier "b" in label matching, expected string'],
  ['foo bar', '1:5: parse error: unexpected identifier "bar"'],
  ['foo constructor bar', '1:5: parse error: unexpected identifier "constructor"'],
  ['foo __proto__ bar', '1:5: parse error: unexpected identifier "__proto__"'],
  ['1 +', '1:4: parse error: unexpected end of input'],
  ['(1', '1:3: parse error: unexpected end of input in parentheses, expected ")"'],
  ['a\n+ * b', '2:3: parse error: unexpected "*"'],
  ['1__0', 'bad number or duration syntax: "1__0"'],
  ['1_', 'bad number or duration syntax: "1_"'],
  ['0b1', 'bad number or duration syntax: "0b1"'],
  ['0x1p4', 'bad number or duration syntax'],
  ['1.5h', 'bad number or duration syntax'],
  ['1e400', 'error parsing number'],
  ['30m1h', 'not a valid duration string: "30m1h"'],
  ['foo[0]', 'duration must be greater than 0'],
  ['foo[300y]', 'duration out of range'],
  ['foo @ inf', 'timestamp out of bounds for @ modifier'],
  ['foo[5m/0]', 'division by zero'],
  ['"abc', 'unterminated quoted string'],
  ['"\\q"', 'error unquoting string "\\q"'],
  ['foo$', 'unexpected character: "$"'],
  ['up{__name__="down"}', 'metric name must not be set twice: "up" or "down"'],
  ['{}', 'vector selector must contain at least one non-empty matcher'],
  ['{a=~".*"}', 'vector selector must contain at least one non-empty matcher'],
  ['{a=~"("}', 'missing closing )'],
  ['1 > 2', 'comparisons between scalars must use BOOL modifier'],
  ['a + bool b', 'bool modifier can only be used on comparison operators'],
  ['1 and a', 'set operator "and" not allowed in binary scalar expression'],
  ['a and group_left b', 'unexpected identifier "group_left"'],
  ['a and on (x) group_left b', 'no grouping allowed for "and" operation'],
  ['a + on (x) 1', 'vector matching only allowed between instant vectors'],
  ['a + on (x) group_left (x) b', 'label "x" must not occur in ON and GROUP clause at once'],
  ['a + "b"', 'binary expression must contain only scalar and instant vector types'],
  ['sum(foo[5m])', 'expected type instant vector in aggregation expression, got range vector'],
  ['sum()', 'no arguments for aggregate expression provided'],
  ['sum(a, b)', 'wrong number of arguments for aggregate expression provided, expected 1, got 2'],
  ['topk("a", b)', 'expected type scalar in aggregation parameter, got string'],
  ['rate(foo)', 'expected type range vector in call to function "rate", got instant vector'],
  ['rate(foo[5m], 1)', 'expected 1 argument(s) in call to "rate", got 2'],
  ['round(a, 1, 2)', 'expected at most 2 argument(s) in call to "round", got 3'],
  ['label_join(a)', 'expected at least 3 argument(s) in call to "label_join", got 1'],
  ['abs(a,)', 'trailing commas not allowed in function call args'],
  ['1[5m:]', 'subquery is only allowed on instant vector, got scalar instead'],
  ['foo[5m][5m:]', 'subquery is only allowed on instant vector, got matrix instead'],
  ['(foo)[5m]', 'ranges only allowed for vector selectors'],
  ['foo offset 5m [5m]', 'no offset modifiers allowed before range'],
  ['foo @ 1 [5m]', 'no @ modifiers allowed before range'],
  ['foo offset 1m offset 1m', 'offset may not be set multiple times'],
  ['foo @ 1 @ 2', '@ <timestamp> may not be set multiple times'],
  ['sum(foo) offset 1m', 'offset modifier must be preceded by'],
  ['nope(foo)', 'unknown function with name "nope"'],
  ['holt_winters(foo[5m], 1, 1)', 'unknown function with name "holt_winters"'],
  ['mad_over_time(foo[5m])', 'function "mad_over_time" is experimental and not supported'],
  ['histogram_avg(foo)', 'function "histogram_avg" needs native histograms, which are not stored'],
  ['limitk(1, foo)', 'limitk() is experimental and not supported'],
  ['a + fill (0) b', 'binop fill modifiers are experimental and not supported'],
  ['rate(foo[5m] smoothed)', 'smoothed modifier is experimental and not supported'],
  [`${'('.repeat(1000)}1`, 'the expression nests deeper than 200 levels'],
  [`1${'+1'.repeat(1000)}`, 'more than 200 operators follow each other'],
  ['x'.repeat(300_000), 'the expression has 300000 characters; at most 262144 are allowed'],
])('refuses an expression: row %#', (text, message) => {
  expect(() => parsePromql(text)).toThrow(PromqlError);
  expect(() => parsePromql(text)).toThrow(message);
});

test('a selector alone takes neither range nor modifiers', () => {
  expect(parseSelector('up{job="a"}').matchers).toEqual([
    { label: 'job', op: '=', value: 'a' },
    { label: '__name__', op: '=', value: 'up' },
  ]);
  for (const text of ['up[5m]', 'up offset 1m', 'sum(up)', '1'])
    expect(() => parseSelector(text)).toThrow('expected a series selector without modifiers');
});

test('a long expression is formatted over several lines', () => {
  const text = `sum by (job) (rate(http_requests_total{code=~"5..",handler!="/metrics"}[5m])) / sum by (job) (rate(http_requests_total[5m]))`;
  expect(prettyPromql(parsePromql(text))).toBe(
    [
      '  sum by (job) (rate(http_requests_total{code=~"5..",handler!="/metrics"}[5m]))',
      '/',
      '  sum by (job) (rate(http_requests_total[5m]))',
    ].join('\n'),
  );
  expect(prettyPromql(parsePromql('sum(x)'))).toBe('sum(x)');
});

test('a text with a backslash before what looks like a surrogate is printed as it is', () => {
  const text = '{path="C:\\\\ud8ff"}';
  expect(printPromql(parsePromql(text))).toBe(text);
  expect(printPromql(parsePromql('{a="\ud8ff"}'))).toBe('{a="\ufffd"}');
});

test('an expression that is printed and read again is the same', () => {
  fc.assert(
    fc.property(
      fc.infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })),
      (stream) => {
        const text = new PromqlExpressions(() => stream.next().value as number).expression();
        const printed = printPromql(parsePromql(text));
        expect(printPromql(parsePromql(printed))).toBe(printed);
        expect(printPromql(parsePromql(prettyPromql(parsePromql(text))))).toBe(printed);
      },
    ),
    { numRuns: 300 },
  );
});
