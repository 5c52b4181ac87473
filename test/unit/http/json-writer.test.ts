import * as fc from 'fast-check';
import { JsonWriter } from '../../../shared/http/json-writer';

const written = (value: number) => new JsonWriter().number(value).text();

describe('numbers in JSON', () => {
  test.each([
    0,
    -0,
    1,
    -1,
    9,
    10,
    99,
    100,
    999_999_999,
    1e9,
    1_000_000_001,
    123_456_789_012_345,
    999_999_999_999_999,
    1e15,
    2 ** 53,
    1e21,
    0.1,
    -0.5,
    0.001,
    0.0001,
    1.01,
    1.25,
    51.846000000000004,
    0.1 + 0.2,
    4.35,
    1e-7,
    5e-324,
    Number.MAX_VALUE,
    1.7976931348623157e308,
    999_999_999_999.999,
    1e12 + 0.125,
    Number.NaN,
    Infinity,
    -Infinity,
  ])('%d is what JSON.stringify writes', (value) => {
    expect(written(value)).toBe(JSON.stringify(value));
  });

  test('any number is what JSON.stringify writes', async () => {
    const decimals = fc.tuple(fc.maxSafeInteger(), fc.nat(8)).map(([m, exponent]) => m / 10 ** exponent);
    const anyNumber = fc.oneof(
      fc.double(),
      decimals,
      fc.integer(),
      fc.integer().map((m) => m / 1000),
    );
    const anyNumbers = fc.array(anyNumber, { maxLength: 30 });
    await fc.assert(
      fc.property(anyNumbers, (values) => {
        const twice = values.flatMap((value) => [value, value]);
        expect(new JsonWriter().numbers(twice).text()).toBe(JSON.stringify(twice));
      }),
      { numRuns: 2_000 },
    );
  });

  test('are written in lists of any length, next to other text', () => {
    const values = Array.from({ length: 20_000 }, (_, i) => i / 7);
    const text = new JsonWriter()
      .raw('{"é":')
      .numbers(values)
      .raw(',"b":')
      .value(['"', null])
      .raw('}')
      .text();
    expect(JSON.parse(text)).toEqual({ é: values, b: ['"', null] });
  });
});
