import { Readable } from 'node:stream';
import { slicesAsRead, slicesOf } from '../../../shared/model/slices';

test.each([
  { items: [], slices: [] },
  { items: [1], slices: [[1]] },
  { items: [1, 2], slices: [[1, 2]] },
  { items: [1, 2, 3], slices: [[1, 2], [3]] },
])('$items in slices of two are $slices', async ({ items, slices }) => {
  expect(slicesOf(items, 2)).toEqual(slices);
  const asRead: number[][] = [];
  for await (const slice of slicesAsRead<number>(Readable.from(items), 2)) asRead.push(slice);
  expect(asRead).toEqual(slices);
});
