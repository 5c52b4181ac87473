import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FREEDOMS, Freedoms } from '../../../scripts/faults/freedoms';
import { Random } from '../../../scripts/faults/random';

const testDir = join(__dirname, '..', '..');
const readme = readFileSync(join(testDir, 'README.md'), 'utf8');

describe('the freedoms of AWS', () => {
  test.each(FREEDOMS)('$name: README has it, a document grants it, and a test has it', (freedom) => {
    const { name, does, document, test: file, where, share, everyMs } = freedom;
    expect(document).toMatch(/^https:\/\/docs\.aws\.amazon\.com\/\S+$/);
    expect(existsSync(join(testDir, `${file}.test.ts`))).toBe(true);
    const row = readme.split('\n').find((line) => line.startsWith(`| [${name}](${document})`));
    expect(row).toContain(does);
    expect(row).toContain(`\`${file.replace('integration/', '')}\``);
    expect(where === 'stand-in' || where === 'host').toBe((share ?? everyMs) !== undefined);
  });

  test('are used alike by the same seed, and cut no batch to nothing', () => {
    const drawn = (seed: number) => {
      const freedoms = new Freedoms(new Random(seed));
      return Array.from({ length: 1_000 }, () => [freedoms.batchLength(3), freedoms.takes('timer twice')]);
    };
    expect(drawn(7)).toEqual(drawn(7));
    expect(drawn(7)).not.toEqual(drawn(8));
    expect([...new Set(drawn(7).map(([length]) => length))].sort()).toEqual([1, 2, 3]);
  });
});
