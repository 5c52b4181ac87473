import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BENCHMARKS } from '../../../scripts/bench/benchmarks';

const benchmarkOf = (name: string) => BENCHMARKS.find((benchmark) => benchmark.name === name)!;

test.each(BENCHMARKS.map(({ name }) => name))(
  '%s tells its options by --help, and runs nothing',
  async (name) => {
    let help = '';
    const command = benchmarkOf(name)
      .command()
      .exitOverride()
      .configureOutput({ writeOut: (text) => (help += text) });
    await expect(command.parseAsync(['--help'], { from: 'user' })).rejects.toMatchObject({
      code: 'commander.helpDisplayed',
    });
    expect(help).toContain(`Usage: ${name}`);
    for (const { long, description } of command.options) {
      expect(help).toContain(long);
      expect(description).not.toBe('');
    }
  },
);

test('archive --rollups has data of its own', async () => {
  const command = benchmarkOf('archive').command();
  await expect(command.parseAsync(['--rollups', '--data', 'x.ndjson'], { from: 'user' })).rejects.toThrow(
    '--data cannot be given with --rollups',
  );
});

test('a short run of a benchmark ends, and prints one JSON value or text', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'bench-'));
  const file = join(dir, 'tiny.ndjson');
  writeFileSync(file, JSON.stringify({ labels: { __name__: 'a' }, timestamps: [0, 60_000], values: [1, 2] }));
  const printed: string[] = [];
  try {
    for (const form of [
      ['--data', file, '--json'],
      ['--data', file],
    ])
      await benchmarkOf('archive')
        .command((text) => printed.push(text))
        .parseAsync(form, { from: 'user' });
  } finally {
    rmSync(dir, { recursive: true });
  }
  expect(printed).toHaveLength(2);
  expect(JSON.parse(printed[0]!)).toMatchObject([
    { data: 'tiny', range: 'day', samples: 2 },
    { data: 'tiny', range: 'whole', samples: 2 },
  ]);
  expect(printed[1]).toContain('tiny');
});
