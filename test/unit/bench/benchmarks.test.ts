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

test('a short run of a benchmark ends, and prints one JSON value or text', async () => {
  const printed: string[] = [];
  const args = ['--series', '200', '--sources', '10'];
  for (const form of [[...args, '--json'], args])
    await benchmarkOf('index')
      .command((text) => printed.push(text))
      .parseAsync(form, { from: 'user' });
  expect(printed).toHaveLength(2);
  expect(JSON.parse(printed[0]!)).toMatchObject({ series: 200, sources: 10 });
  expect(printed[1]).toContain('200');
});
