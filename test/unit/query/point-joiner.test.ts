import { labelsOf } from '../../../shared/model/labels';
import { PointJoiner } from '../../../shared/query/point-joiner';

const LABELS = labelsOf(['__name__', 'x']);
const columns = (...pairs: [ms: number, value: number][]) => ({
  timestamps: Float64Array.from(pairs, ([ms]) => ms),
  values: Float64Array.from(pairs, ([, value]) => value),
});

describe('PointJoiner', () => {
  test('joins points and samples by time', () => {
    const samples = { labels: LABELS, ...columns([2, 20], [3, 30], [7, 70]) };
    const joined = new PointJoiner({ use: 'last', edges: 'exact' }).join(
      samples,
      columns([1, 10], [5, 50], [6, 60]),
    );
    expect([...joined.timestamps]).toEqual([1, 2, 3, 5, 6, 7]);
    expect([...joined.values]).toEqual([10, 20, 30, 50, 60, 70]);
  });

  test('refuses a point and a sample of one time', () => {
    const samples = { labels: LABELS, ...columns([2, 20], [5, 50]) };
    const join = () =>
      new PointJoiner({ use: 'last', edges: 'exact' }).join(samples, columns([1, 10], [5, 50]));
    expect(join).toThrow('a sample and a point have the same time, 5');
  });
});
