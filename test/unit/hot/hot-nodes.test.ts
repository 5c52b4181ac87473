import { fullnessOf } from '../../../shared/hot/hot-nodes';

test.each([
  { name: 'a node with a limit', used: 90, max: 100, expected: 0.9 },
  { name: 'a node without a limit', used: 10, max: 0, expected: 0 },
])('the fullness of $name', ({ used, max, expected }) => {
  const lines = [`used_memory:${used}`, 'used_memory_human:1M', `maxmemory:${max}`, 'maxmemory_human:0B'];
  expect(fullnessOf(`# Memory\r\n${lines.join('\r\n')}\r\n`)).toBe(expected);
});

test('the fullness of a node that did not answer is 0', () => {
  expect(fullnessOf('')).toBe(0);
});
