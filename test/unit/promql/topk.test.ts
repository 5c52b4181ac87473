import fc from 'fast-check';
import { labelsOf } from '../../../shared/model/labels';
import { MemorySampleStore } from '../../../shared/promql/memory-store';
import { instantQuery } from '../../../shared/promql/query';

const LIMITS = { maxSeries: 1_000, maxSamples: 10_000, maxValues: 10_000 };

async function valuesOf(text: string, values: readonly number[]): Promise<number[]> {
  const store = new MemorySampleStore();
  for (const [i, value] of values.entries())
    store.add(labelsOf(['__name__', 'x'], ['a', String(i).padStart(3, '0')]), 0, value);
  const { value } = await instantQuery(store, text, 0, { limits: LIMITS, isLate: () => false });
  if (value.type !== 'vector') throw new Error(value.type);
  return value.series.flatMap((series) => [...series.values]);
}

/** Few distinct numbers, so that many are equal. */
const anyValue = fc.oneof(fc.integer({ min: 0, max: 5 }), fc.constantFrom(NaN, Infinity, -Infinity));

test('topk and bottomk give the first values of all, sorted, whatever share of them is asked for', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyValue, { minLength: 1, maxLength: 60 }),
      fc.nat({ max: 70 }),
      async (values, k) => {
        const sorted = (sign: number) =>
          values.toSorted((a, b) =>
            Number.isNaN(a) ? 1 : Number.isNaN(b) ? -1 : a === b ? 0 : sign * (a < b ? -1 : 1),
          );
        expect(await valuesOf(`topk(${k}, x)`, values)).toEqual(sorted(-1).slice(0, k));
        expect(await valuesOf(`bottomk(${k}, x)`, values)).toEqual(sorted(1).slice(0, k));
      },
    ),
  );
});
