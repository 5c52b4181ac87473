import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { BUNDLE_OPTIONS } from '../../../infra/bundle-options';
import { temporaryDir } from '../../support/temporary-dir';

/** V8 kills a process whose live objects exceed its heap, regardless of how busy the machine is. */
const HEAP = ['--max-old-space-size=64', '--max-semi-space-size=1'];

const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const sample = (_: unknown, i: number) => `{"hostId":"h","name":"m${i}","time":0,"value":${i}}`;

describe(`a body of the largest size, in a heap of 64 MB`, () => {
  const dir = temporaryDir();
  const bundle = join(dir, 'process.js');

  beforeAll(() =>
    build({
      ...BUNDLE_OPTIONS,
      entryPoints: [join(__dirname, '../../support/json-heap-process.ts')],
      outfile: bundle,
    }),
  );

  afterAll(() => rmSync(dir, { recursive: true }));

  test.each([
    { name: 'samples', body: `[${Array.from({ length: 80_000 }, sample)}]`, outcome: '80000' },
    { name: 'empty objects', body: `[${'{},'.repeat(1_300_000)}{}]`, outcome: '413' },
    { name: 'as many empty objects as are allowed', body: `[${'{},'.repeat(199_000)}{}]`, outcome: '0' },
    { name: 'numbers', body: `[${'1,'.repeat(1_900_000)}1]`, outcome: '413' },
    { name: 'arrays in arrays', body: deep(1_900_000), outcome: '413' },
    { name: 'as many arrays in arrays as are allowed', body: deep(399_000), outcome: '0' },
    {
      name: 'an object of many keys',
      body: `[{${Array.from({ length: 300_000 }, (_, i) => `"k${i}":1`)}}]`,
      outcome: '0',
    },
    { name: 'many strings', body: `[${Array.from({ length: 390_000 }, (_, i) => `"${i}"`)}]`, outcome: '0' },
    { name: 'spaces', body: `[${' '.repeat(4_000_000)}]`, outcome: '0' },
  ])('of $name is taken or refused: $outcome', ({ body, outcome }) => {
    const file = join(dir, 'body');
    writeFileSync(file, body);
    const { stdout, stderr } = spawnSync(process.execPath, [...HEAP, bundle, file], { encoding: 'utf8' });
    expect([stdout, stderr]).toEqual([outcome, '']);
  });
});
