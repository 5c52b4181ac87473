import fc from 'fast-check';
import { MalformedBytesError } from '../../../shared/model/bytes';
import {
  compareLabels,
  type Labels,
  labelsKey,
  labelsOf,
  metricOf,
  sourceOf,
} from '../../../shared/model/labels';
import { LabelsHash } from '../../../shared/model/labels-hash';
import { byKey, decodeLayout, layoutOf, mergeLayouts, positionsIn } from '../../../shared/model/layout';
import {
  checkLayout,
  columnsOfPart,
  distinctHashes,
  encodeLayoutOf,
  encodeNames,
  labelsInLayout,
  mergeHashes,
  seriesHashes,
} from '../../../shared/model/layout-bytes';
import { packLayout } from '../../../shared/model/packed-layout';

const host = sourceOf.host('3yAQk9zZq1A');
const metrics = (...names: string[]) => names.map((name) => metricOf(host, name));

/** Any label set, with names that JavaScript treats specially. */
const labels: fc.Arbitrary<Labels> = fc
  .uniqueArray(
    fc.tuple(fc.oneof(fc.constantFrom('__proto__', 'constructor', '__name__', ''), fc.string()), fc.string()),
    { selector: ([name]) => name, minLength: 1, maxLength: 6 },
  )
  .map((pairs) => labelsOf(...pairs));
const series = fc.uniqueArray(labels, { selector: labelsKey, minLength: 1, maxLength: 20 });

describe('a layout', () => {
  test('has the same id whatever the order in which its series are given', () => {
    expect(layoutOf(metrics('b', 'a', 'c')).id).toBe(layoutOf(metrics('c', 'b', 'a')).id);
  });

  test('keeps no more memory than its compressed bytes', () => {
    const { packed } = packLayout(layoutOf(metrics('a')).bytes);
    expect(packed.buffer.byteLength).toBe(packed.length);
  });

  test('gives each series a hash that is its own and the same in any layout', () => {
    fc.assert(
      fc.property(series, series, (some, others) => {
        const byKey = new Map<string, number>();
        for (const layout of [layoutOf(some), layoutOf(others), ...some.map((one) => layoutOf([one]))])
          for (const [i, hash] of seriesHashes(layout.bytes).entries()) {
            const key = labelsKey(layout.series[i]!);
            expect(byKey.get(key) ?? hash).toBe(hash);
            byKey.set(key, hash);
          }
        expect(new Set(byKey.values()).size).toBe(byKey.size);
      }),
    );
  });

  test('of other series has another id', () => {
    expect(layoutOf(metrics('a', 'b')).id).not.toBe(layoutOf(metrics('a', 'c')).id);
    expect(layoutOf(metrics('a')).id).not.toBe(layoutOf([metricOf(sourceOf.service('3yAQk9zZq1A'), 'a')]).id);
  });

  test('stores the labels that all series have only once', () => {
    const names = Array.from({ length: 100 }, (_, i) => `m${i}`);
    const { bytes } = layoutOf(metrics(...names));
    expect(Buffer.from(bytes).toString('latin1').split('3yAQk9zZq1A')).toHaveLength(2);
    expect(bytes.length).toBeLessThan(100 * 8);
  });

  test('maps its series to the columns of a merged layout', () => {
    const a = layoutOf(metrics('a', 'c'));
    const b = layoutOf(metrics('b', 'c'));
    const merged = mergeLayouts([a, b]);
    expect([...merged.columns.keys()]).toEqual(metrics('a', 'b', 'c').map(labelsKey));
    expect([...positionsIn(a, merged)]).toEqual([0, 2]);
    expect([...positionsIn(b, merged)]).toEqual([1, 2]);
    expect(mergeLayouts([a, a])).toBe(a);
  });

  test('comes back from its bytes with its id, for any labels', () => {
    fc.assert(
      fc.property(series, (given) => {
        const layout = layoutOf(given);
        const back = decodeLayout(layout.bytes);
        expect(back.id).toBe(layout.id);
        expect(back.series).toEqual(layout.series);
        expect(checkLayout(layout.bytes)).toHaveLength(given.length);
        expect(new Set(back.columns.keys())).toEqual(new Set(given.map(labelsKey)));
      }),
    );
  });

  test('of series that differ in their names alone has the same bytes from the fast encoder', () => {
    const other = labels.map((pairs) => pairs.filter(([name]) => name !== '__name__'));
    const names = fc.uniqueArray(fc.oneof(fc.constantFrom('', '"', '__proto__', 'é'), fc.string()), {
      minLength: 2,
      maxLength: 20,
    });
    fc.assert(
      fc.property(other, names, (rest, given) => {
        const all = given.map((name) => labelsOf(['__name__', name], ...rest));
        const ordered = all.map((one, i) => ({ name: given[i]!, key: labelsKey(one) })).sort(byKey);
        const bytes = encodeLayoutOf(rest, encodeNames(ordered.map(({ name }) => name)));
        expect(bytes).toEqual(layoutOf(all).bytes);
      }),
    );
  });

  test('orders label sets as their keys, and hashes equal ones alike', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', 'b', ' ', '!', '"', '#', '\\', '\n', 'é', '\ud83d', '\ude00'),
    });
    const pairs = fc.uniqueArray(fc.tuple(text, text), { selector: ([name]) => name, maxLength: 4 });
    const hash = new LabelsHash();
    fc.assert(
      fc.property(fc.oneof(pairs, labels), fc.oneof(pairs, labels), (a, b) => {
        const [x, y] = [labelsOf(...a), labelsOf(...b)];
        expect(Math.sign(compareLabels(x, y))).toBe(byKey({ key: labelsKey(x) }, { key: labelsKey(y) }));
        const [ofX, ofY] = [hash.of(x).number, new LabelsHash().of([...y].reverse()).number];
        expect(ofX === ofY).toBe(labelsKey(x) === labelsKey(y));
      }),
    );
  });

  test('is read, and its part compared, from the bytes as when both are decoded', () => {
    const named = fc
      .uniqueArray(fc.string(), { minLength: 1, maxLength: 20 })
      .map((names) => metrics(...names));
    const picks = fc.array(fc.boolean(), { minLength: 20, maxLength: 20 });
    fc.assert(
      fc.property(fc.oneof(series, named), picks, fc.boolean(), (given, picked, isMore) => {
        const whole = layoutOf(given);
        expect(labelsInLayout(whole.bytes)).toEqual(whole.series);
        const some = [...given.filter((_, i) => picked[i]), ...(isMore ? metrics('not among them: \0') : [])];
        if (some.length === 0) return;
        const part = layoutOf(some);
        const columns = columnsOfPart(whole.bytes, part.bytes);
        if (columns === 'unlike') return;
        expect(columns).toEqual(isMore ? undefined : Uint16Array.from(positionsIn(part, whole)));
      }),
    );
  });

  test('that is cut off or altered is refused or reads as another layout, and never hangs', () => {
    const outcome = <T>(read: () => T): T | string => {
      try {
        return read();
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedBytesError);
        return (error as Error).message;
      }
    };
    fc.assert(
      fc.property(series, fc.nat(), fc.nat(255), fc.boolean(), (given, place, byte, cut) => {
        const bytes = Buffer.from(layoutOf(given).bytes);
        const at = place % bytes.length;
        bytes[at] = byte;
        const altered = cut ? bytes.subarray(0, at) : bytes;
        const decoded = outcome(() => decodeLayout(altered).series.length);
        const checked = outcome(() => checkLayout(altered).length);
        // A layout that passes the check can be decoded. The check misses only a series that is written in two ways.
        if (typeof checked === 'number' && !/twice/.test(String(decoded))) expect(decoded).toBe(checked);
      }),
      { numRuns: 1_000 },
    );
  });
});

test('the distinct hashes of lists are each hash once, sorted', () => {
  const list = fc.array(fc.oneof(fc.nat(5), fc.maxSafeNat()));
  fc.assert(
    fc.property(fc.array(list), (lists) => {
      const expected = [...new Set(lists.flat())].sort((a, b) => a - b);
      expect([...distinctHashes(lists.map((each) => Float64Array.from(each)))]).toEqual(expected);
    }),
  );
});

test('two lists of distinct hashes merge into the distinct hashes of both', () => {
  const list = fc.array(fc.oneof(fc.nat(5), fc.maxSafeNat())).map((each) => Float64Array.from(each));
  fc.assert(
    fc.property(list, list, (a, b) => {
      const merged = mergeHashes(distinctHashes([a]), distinctHashes([b]));
      expect(merged).toEqual(distinctHashes([a, b]));
    }),
  );
});
