import { allowedValues, Ledger, type Outcome, type Sample } from '../../../scripts/soak/ledger';
import { type Labels, labelValue, METRIC_NAME, metricOf, sourceOf } from '../../../shared/model/labels';

const series = (name: string) => metricOf(sourceOf.host('h'), name);
const sample = (time: number, value: number): Sample => ({ labels: series('m'), time, value });
const never = async () => false;

describe('the values that a sample may have, after requests', () => {
  const attempt = (value: number, sent: number, ended: number, outcome: Outcome = 'acknowledged') => ({
    value,
    request: { sent, ended, outcome },
  });
  test.each([
    {
      name: 'acknowledged one after the other: the last',
      attempts: [attempt(1, 0, 1), attempt(2, 2, 3)],
      values: [2],
    },
    {
      name: 'acknowledged at the same time: either',
      attempts: [attempt(1, 0, 2), attempt(2, 1, 3)],
      values: [1, 2],
    },
    {
      name: 'the first has no answer and may come at any time: either',
      attempts: [attempt(1, 0, Infinity, 'unknown'), attempt(2, 1, 2)],
      values: [1, 2],
    },
    {
      name: 'the second has no answer: either',
      attempts: [attempt(1, 0, 1), attempt(2, 2, Infinity, 'unknown')],
      values: [1, 2],
    },
    {
      name: 'a refused one: never',
      attempts: [attempt(1, 0, 1), attempt(2, 2, 3, 'refused')],
      values: [1],
    },
    {
      name: 'nothing acknowledged: it may be missing',
      attempts: [attempt(1, 0, Infinity, 'unknown')],
      values: [1],
      mayBeMissing: true,
    },
  ])('$name', ({ attempts, values, mayBeMissing = false }) => {
    const allowed = allowedValues(attempts);
    expect([...allowed.values]).toEqual(values);
    expect(allowed.mayBeMissing).toBe(mayBeMissing);
  });
});

describe('the ledger', () => {
  test('finds lost, doubled, wrong and invented samples, and no others', async () => {
    const ledger = new Ledger();
    ledger.sending([1, 2, 3, 4].map((time) => sample(time, time * 10)))('acknowledged');
    ledger.sending([sample(5, 50)])('refused');
    ledger.sending([sample(6, 60)]);
    expect(ledger.acknowledged).toBe(4);
    const read = async () => [
      { time: 1, value: 10 },
      { time: 2, value: 20 },
      { time: 2, value: 20 },
      { time: 3, value: 31 },
      { time: 5, value: 50 },
      { time: 7, value: 70 },
    ];
    expect(await ledger.verify(read, never)).toMatchObject({ lost: 1, doubled: 1, wrong: 3 });
  });

  test('reads series with flaws again, as long as the caller is patient, and only those', async () => {
    const ledger = new Ledger();
    ledger.sending([sample(1, 10), { ...sample(1, 10), labels: series('other') }])('acknowledged');
    const reads: string[] = [];
    const read = async (labels: Labels) => {
      const name = labelValue(labels, METRIC_NAME)!;
      reads.push(name);
      return name === 'm' && reads.length < 4 ? [] : [{ time: 1, value: 10 }];
    };
    expect(await ledger.verify(read, async () => true)).toMatchObject({ lost: 0, examples: [] });
    expect(reads).toEqual(['m', 'other', 'm', 'm']);
  });

  test('reads no range so long that the API would give means', async () => {
    const ledger = new Ledger();
    ledger.sending([sample(0, 1), sample(72_000, 2), sample(72_001, 3), sample(200_000, 4)])('acknowledged');
    const ranges: [number, number][] = [];
    await ledger.verify(async (_, from, to) => {
      ranges.push([from, to]);
      return [];
    }, never);
    expect(ranges).toEqual([
      [0, 72_000],
      [72_001, 72_001],
      [200_000, 200_000],
    ]);
  });
});
