import { runScript } from '../support/script';

const SMALL_INGEST = ['--hosts', '20', '--metrics', '10', '--minutes', '2', '--warm-up', '0', '--no-paper'];

/** Runs a benchmark in its own process. Returns the last line of its output, which is JSON. */
async function bench(...args: string[]): Promise<Record<string, unknown>> {
  const { code, out, err } = await runScript('bench', [...args, '--json']);
  if (code !== 0) throw new Error(err);
  return JSON.parse(out.trim().split('\n').at(-1)!) as Record<string, unknown>;
}

// These benchmarks replace the SDK's HTTP requests with maps, which know only some of DynamoDB's calls. A new call of
// the functions must not make them fail. The figures of so small a load mean nothing, so none is checked.

test.each(['mackerel', 'otlp'])('the benchmark of ingest ends with its figures for %s', async (protocol) => {
  const result = await bench('ingest', '--protocol', protocol, '--workers', '1', ...SMALL_INGEST);
  expect(result).toMatchObject({ protocol, series: 200 });
  expect(result.coldPointsPerSecond).toBeGreaterThan(0);
});

test('the benchmark of flushes moves everything that it put into memory', async () => {
  const load = ['--hosts', '20', '--metrics', '10', '--minutes', '3', '--rate', '1000'];
  expect((await bench('flush', ...load)).pointsPerSecond).toBeGreaterThan(0);
});
