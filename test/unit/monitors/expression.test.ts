import fc from 'fast-check';
import { ExpressionError, parseExpression } from '../../../shared/monitors/expression';
import { promqlOf } from '../../../shared/monitors/expression-promql';
import { MemorySampleStore } from '../../../shared/promql/memory-store';
import { parsePromql } from '../../../shared/promql/parser';
import { instantQuery } from '../../../shared/promql/query';
import { anyCharacter } from '../../support/any-text';

const MINUTE_MS = 60_000;
const AT_MS = 100_000 * MINUTE_MS;

/** Values of ten minutes, the last one at the time of evaluation. */
const store = new MemorySampleStore();
function put(labels: Record<string, string>, ...values: number[]): void {
  values.forEach((value, i) => {
    const atMs = AT_MS - (values.length - 1 - i) * MINUTE_MS;
    store.add(
      Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)),
      atMs,
      value,
    );
  });
}
put({ __name__: 'load', host: 'h1', hostname: 'one', role: 'db', service: 'shop' }, 1, 2, 3, 4, 5);
put({ __name__: 'load', host: 'h2', hostname: 'two', role: 'db', service: 'shop' }, 10, 10, 10, 10, 10);
put({ __name__: 'cores', host: 'h1' }, 2, 2, 2, 2, 2);
put({ __name__: 'cores', host: 'h2' }, 4, 4, 4, 4, 4);
put({ __name__: 'custom.jobs.a', host: 'h1' }, 7);
put({ __name__: 'custom.jobs.b', host: 'h1' }, -3);
put({ __name__: 'custom.jobs.b.c', host: 'h1' }, 1000);
put({ __name__: 'custom_jobs_a', host: 'h1' }, 1000);
put({ __name__: 'sold', service: 'shop' }, 100, 200, 300);
put({ __name__: 'visits', service: 'shop' }, 0, 0, 0);
put({ __name__: 'sold', host: 'h9', service: 'shop' }, 9, 9, 9);

const hostsOf = (role: string) => (role === 'shop:db' ? ['h1', 'h2'] : []);

async function valuesOf(text: string): Promise<number[]> {
  const { value } = await instantQuery(store, promqlOf(parseExpression(text), hostsOf), AT_MS, {
    limits: { maxSeries: 100, maxSamples: 10_000, maxValues: 10_000 },
    isLate: () => false,
  });
  if (value.type !== 'vector') throw new Error(`the result is a ${value.type}`);
  return value.series.map(({ values }) => values[0]!).sort((a, b) => a - b);
}

describe('expressions', () => {
  test.each([
    ['host(h1, load)', [5]],
    [`host("h1",'load')`, [5]],
    ['host(h3, load)', []],
    ['service(shop, sold)', [300]],
    ['role(shop:db, load)', [5, 10]],
    ["roleSlots('shop: db', load)", [5, 10]],
    ['role(shop:web, load)', []],
    ['movingAverage(role(shop:web, load), 5m)', []],
    ['host(h1, custom.jobs.*)', [-3, 7]],
    ['host(h1, custom.jobs.#)', [-3, 7]],
    ['avg(role(shop:db, load))', [7.5]],
    ['max(role(shop:db, load))', [10]],
    ['min(host(h1, custom.jobs.*))', [-3]],
    ['sum(group(host(h1, load), host(h1, load)))', [10]],
    ['product(host(h1, custom.jobs.*))', [-21]],
    ['product(group(service(shop, sold), service(shop, visits)))', [0]],
    ['diff(service(shop, sold), host(h1, load))', [295]],
    ['diff(role(shop:db, load), role(shop:db, cores))', [3, 6]],
    ['diff(role(shop:db, load), host(h1, cores))', [3, 8]],
    ['diff(host(h1, load), role(shop:db, cores))', [1, 3]],
    ['diff(host(h1, load), host(h3, load))', []],
    ['divide(role(shop:db, load), role(shop:db, cores))', [2.5, 2.5]],
    ['divide(host(h1, load), service(shop, visits))', []],
    ['scale(host(h1, load), 10.0)', [50]],
    ['scale(host(h1, load), 1/5)', [1]],
    ['scale(host(h1, load), -2)', [-10]],
    ['offset(host(h1, load), 0.5)', [5.5]],
    ['percentile(role(shop:db, load), 50)', [7.5]],
    ['timeShift(host(h1, load), 2m)', [3]],
    ['timeShift(timeShift(host(h1, load), 2m), 1m)', [2]],
    ['timeShift(movingAverage(host(h1, load), 2m), 1m)', [3.5]],
    ['movingAverage(host(h1, load), 3m)', [4]],
    ['movingAverage(sum(role(shop:db, load)), 3m)', [14]],
    ['movingAverage(host(h1, custom.jobs.*), 3m)', [-3, 7]],
    ['linearRegression(host(h1, load), 5m)', [5]],
    ['timeLeftForecast(host(h1, load), 5m, 10)', [300]],
    ['scale(timeLeftForecast(host(h1, load), 5m, 10), 1/60)', [5]],
    ['timeLeftForecast(host(h1, load), 5m, 0)', [Number.POSITIVE_INFINITY]],
    ['timeLeftForecast(host(h2, load), 5m, 20)', [Number.POSITIVE_INFINITY]],
    ['group(host(h1, load), host(h1, load), group(host(h1, cores), host(h1, cores)))', [2, 2, 5, 5]],
    ['group(movingAverage(host(h1, load), 3m), movingAverage(host(h1, cores), 3m))', [2, 4]],
    ['avg(group(group(host(h1, load)), host(h2, load)))', [7.5]],
    [
      "group(alias(host(h1, load), 'now'),\n      alias(timeShift(host(h1, load), 1m), '1 minute ago'))",
      [4, 5],
    ],
    ['stack(host(h1, load))', [5]],
  ])('%s', async (text, values) => {
    const found = await valuesOf(text);
    expect(found.map((value) => Number(value.toPrecision(12)))).toEqual(values);
  });

  test.each([
    ['', 'character 1: a function is missing'],
    ['loadavg5', 'character 1: unknown function "loadavg5"'],
    ['avg', 'character 4: "(" after avg is missing'],
    ['nothing(a, b)', 'character 1: unknown function "nothing"'],
    ['toString(a, b)', 'character 1: unknown function "toString"'],
    ['host(h1)', 'character 8: expected "," and another argument of host, which takes 2, got ")"'],
    ['host(h1, load, x)', 'character 14: expected ")" after the arguments of host, got ","'],
    ['host(h1, load) x', 'character 16: expected the end of the expression, got "x"'],
    ["host(h1, 'load)", 'character 9: a quoted text is not closed'],
    ["host(h1, '')", 'character 10: "" of host is not a name'],
    ['avg(load)', 'character 5: unknown function "load"'],
    ['role(shop, load)', 'character 6: "shop" of role is not a role, such as service:role'],
    ['scale(host(h1, load), x)', 'character 23: "x" of scale is not a number, such as 1.5 or 1/86400'],
    ['scale(host(h1, load), 1/0)', 'character 23: "1/0" of scale is not a number, such as 1.5 or 1/86400'],
    [
      'percentile(host(h1, load), 100)',
      'character 28: "100" of percentile is not a percentage between 0 and 100',
    ],
    [
      'timeShift(host(h1, load), 5s)',
      'character 27: "5s" of timeShift is not a duration of minutes to 3 years, such as 5m, 1h, 2d, 1w, 3mo or 1y',
    ],
    ['group()', 'character 7: expected a function, got ")"'],
    [`${'avg('.repeat(40)}host(a, b)${')'.repeat(40)}`, 'character 129: calls are nested more than 32 deep'],
    [
      `group(${'host(a, b),'.repeat(600)} host(a, b))`,
      'character 5496: the expression has more than 500 calls',
    ],
    ['x'.repeat(10_001), 'the expression has 10001 characters; at most 10000 are allowed'],
  ])('%p is refused', (text, message) => {
    expect(() => parseExpression(text)).toThrow(new ExpressionError(message));
  });

  test('a duration of months and years is of 30 and 365 days', () => {
    const [months, years] = ['3mo', '1y'].map(
      (text) => parseExpression(`timeShift(host(a, b), ${text})`).values,
    );
    expect([months, years]).toEqual([[90 * 86_400_000], [365 * 86_400_000]]);
  });

  test('an expression whose PromQL would be too long is refused', () => {
    const text = `${'product('.repeat(20)}host(a, b)${')'.repeat(20)}`;
    expect(() => promqlOf(parseExpression(text), hostsOf)).toThrow('has more than 200000 characters');
  });

  test('what parses compiles to PromQL that parses', () => {
    const name = fc.oneof(
      fc.string({ unit: anyCharacter, minLength: 1, maxLength: 8 }),
      fc.constantFrom('load', 'a.*', '__proto__', '{{', '")'),
    );
    const quoted = name.map((text) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`);
    const leaf = fc.oneof(
      fc.tuple(quoted, quoted).map(([host, metric]) => `host(${host}, ${metric})`),
      fc.tuple(quoted, quoted).map(([service, metric]) => `service(${service}, ${metric})`),
      quoted.map((metric) => `role(shop:db, ${metric})`),
      quoted.map((metric) => `role(shop:web, ${metric})`),
    );
    const { metrics } = fc.letrec<{ metrics: string }>((tie) => ({
      metrics: fc.oneof(
        { maxDepth: 4 },
        leaf,
        fc
          .tuple(fc.constantFrom('avg', 'max', 'min', 'sum', 'product', 'stack'), tie('metrics'))
          .map(([func, part]) => `${func}(${part})`),
        fc
          .tuple(fc.constantFrom('diff', 'divide', 'group'), tie('metrics'), tie('metrics'))
          .map(([func, a, b]) => `${func}(${a}, ${b})`),
        fc
          .tuple(
            fc.constantFrom('timeShift', 'movingAverage', 'linearRegression'),
            tie('metrics'),
            fc.constantFrom('1m', '3mo'),
          )
          .map(([func, part, duration]) => `${func}(${part}, ${duration})`),
        fc
          .tuple(
            fc.constantFrom('scale', 'offset'),
            tie('metrics'),
            fc.double({ noNaN: true, noDefaultInfinity: true }),
          )
          .map(([func, part, factor]) => `${func}(${part}, ${factor})`),
        tie('metrics').map((part) => `timeLeftForecast(${part}, 7d, 10)`),
      ),
    }));
    fc.assert(
      fc.property(metrics, (text) => {
        try {
          parsePromql(promqlOf(parseExpression(text), hostsOf));
        } catch (error) {
          if (!(error instanceof ExpressionError)) throw error;
        }
      }),
    );
  });

  test('any text is parsed or refused with a typed error', () => {
    const words = fc.constantFrom(
      'host',
      'role',
      'avg',
      'scale',
      'group',
      '(',
      ')',
      ',',
      "'",
      '"',
      'a',
      '1/2',
      '5m',
      ' ',
      '\\',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: anyCharacter }),
          fc.array(words, { maxLength: 40 }).map((all) => all.join('')),
        ),
        (text) => {
          try {
            parseExpression(text);
          } catch (error) {
            if (!(error instanceof ExpressionError)) throw error;
          }
        },
      ),
    );
  });
});
