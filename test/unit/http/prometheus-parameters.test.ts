import fc from 'fast-check';
import { matcherSetsOf, queryRangeOf, unescapeLabelName } from '../../../shared/http/prometheus-parameters';

describe('the range of a range query', () => {
  const valid = { start: 0, end: 11_000_000, step: 1_000 };

  test('has at most 11,000 steps after the first', () => {
    expect(queryRangeOf(valid)).toEqual({ startMs: 0, endMs: 11_000_000, stepMs: 1_000 });
    expect(() => queryRangeOf({ ...valid, end: 11_000_999 })).not.toThrow();
    expect(() => queryRangeOf({ ...valid, end: 11_001_000 })).toThrow(
      'exceeded maximum resolution of 11,000 points',
    );
  });

  test.each([
    [{ start: undefined }, 'invalid parameter "start": cannot parse ""'],
    [{ end: undefined }, 'invalid parameter "end": cannot parse ""'],
    [{ step: undefined }, 'invalid parameter "step": cannot parse ""'],
    [{ end: -1 }, 'invalid parameter "end": end timestamp must not be before start time'],
    [{ step: 0 }, 'invalid parameter "step": zero or negative'],
    [{ step: -1 }, 'invalid parameter "step": zero or negative'],
  ])('is refused: %j', (change, message) => {
    expect(() => queryRangeOf({ ...valid, ...change })).toThrow(message);
  });
});

test('a selector that cannot be parsed is named as the parameter match[]', () => {
  expect(matcherSetsOf(['up', '{job="api"}'])).toHaveLength(2);
  expect(() => matcherSetsOf(['up', 'up{'])).toThrow('invalid parameter "match[]": ');
});

describe("an escaped label's name", () => {
  /** Escapes a name as Prometheus' clients do. */
  const escapeName = (name: string) =>
    `U__${Array.from(name, (each) => {
      if (each === '_') return '__';
      return /[A-Za-z0-9:]/.test(each) ? each : `_${each.codePointAt(0)!.toString(16)}_`;
    }).join('')}`;

  test('stands for the name, whatever its characters', () => {
    expect(unescapeLabelName('U__host_2e_name')).toBe('host.name');
    void fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'aZ09_:.- é😀') }), (name) => {
        expect(unescapeLabelName(escapeName(name))).toBe(name);
      }),
    );
  });

  test.each(['host', '__name__', 'U_', 'U__a_b', 'U__a_2e', 'U__a.b'])(
    'is taken literally if it is not escaped throughout: %s',
    (name) => {
      expect(unescapeLabelName(name)).toBe(name);
    },
  );
});
