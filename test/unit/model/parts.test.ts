import { partsOf } from '../../../shared/model/parts';

test.each([
  { items: [], parts: [] },
  { items: [1], parts: [[1]] },
  { items: [1, 2], parts: [[1, 2]] },
  { items: [1, 2, 3], parts: [[1, 2], [3]] },
])('$items in parts of two are $parts', ({ items, parts }) => {
  expect(partsOf(items, 2)).toEqual(parts);
});
