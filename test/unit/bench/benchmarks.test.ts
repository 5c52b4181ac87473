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

test.each([
  { name: 'spread', args: ['--series', '1000'], first: { leastMin: 10, spreadMin: 0 } },
  {
    name: 'placement',
    args: ['--tenants', '5', '--series', '10000'],
    first: { partitions: 'born', shards: 64 },
  },
  { name: 'index', args: ['--series', '200', '--sources', '10'], first: { series: 200, sources: 10 } },
])('a short run of $name ends, and prints one JSON value or text', async ({ name, args, first }) => {
  const printed: string[] = [];
  for (const form of [[...args, '--json'], args])
    await benchmarkOf(name)
      .command((text) => printed.push(text))
      .parseAsync(form, { from: 'user' });
  expect(printed).toHaveLength(2);
  const result: unknown = JSON.parse(printed[0]!);
  const { rows = [result] } = (Array.isArray(result) ? { rows: result } : result) as { rows?: unknown[] };
  expect(rows[0]).toMatchObject(first);
  for (const value of Object.values(first)) expect(printed[1]).toContain(String(value));
});
