import { redriveAll } from '../../../scripts/ops/quarantine';

test.each([
  {
    name: 'of this release',
    counts: { failed: 1, unanswered: 2 },
    message: '1 objects could not be redriven, and 2 wait',
  },
  {
    name: 'of the former release, which counts only failed objects',
    counts: { failed: 1 },
    message: '1 objects could not be redriven, and 0 wait',
  },
])('a redrive fails if objects failed on a stage $name', async ({ counts, message }) => {
  const slice = { records: 3, poison: 0, waiting: 1, removed: 0, errors: ['why'], ...counts };
  const functions = { invoke: async <T>() => slice as T };
  const reasons: string[] = [];
  await expect(redriveAll(functions, 'onFailure', (line) => void reasons.push(line))).rejects.toThrow(
    message,
  );
  expect(reasons).toEqual(['why']);
});
