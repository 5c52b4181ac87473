import { unusedFolders } from '../../../scripts/local/synth';

const HOUR_MS = 3_600_000;
const NOW_MS = Date.UTC(2026, 10, 25);

function folders(count: number, hours: number) {
  return Array.from({ length: count }, (_, i) => ({
    name: `${hours}h-${i}`,
    usedMs: NOW_MS - hours * HOUR_MS,
  }));
}

test.each([
  { name: 'twenty stay, however old', folders: folders(20, 1_000), removed: 0 },
  { name: 'any number used within a day stays', folders: folders(500, 23), removed: 0 },
  {
    name: 'of older ones, those beyond the newest twenty go',
    folders: [...folders(50, 30), ...folders(15, 1)],
    removed: 45,
  },
])('$name', ({ folders: all, removed }) => {
  const names = unusedFolders(all, NOW_MS);
  expect(names).toHaveLength(removed);
  expect(names.filter((name) => !name.startsWith('30h'))).toEqual([]);
});
