/** `npm run bench -- history`: reads of an hour to 460 days, of one series and of a host's 100. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { parseDuration } from '../../shared/model/duration';
import { besideIngest, growthBesideIngest } from './beside-ingest';
import { type QueryData, writeQueryData } from './query-data';
import { type Measured, QueryInstances, timesOf } from './query-instances';
import { startStores } from './stores';

interface Options {
  readonly clients: string;
  readonly seconds: string;
  readonly ingest: string;
  readonly hold: string;
  readonly only?: string;
  readonly cpuProf?: string;
  readonly json?: boolean;
}

/** Ranges, and the steps in which they are read, s; undefined: as stored. */
const STEPS = { '1h': undefined, '24h': 300, '7d': 3600, '30d': 3600, '90d': 3600, '460d': 86_400 } as const;
type Range = keyof typeof STEPS;
const RANGES = Object.keys(STEPS) as Range[];

interface Result extends Omit<Measured, 'p50Ms' | 'emulatorMs'> {
  readonly query: 'series' | 'host';
  readonly range: Range;
  /** Median time of an answer, without the emulator's. */
  readonly ms: number;
  readonly underIngest: boolean;
}

/** @param args what follows `history` on the command line */
export async function benchHistory(args: string[]): Promise<void> {
  const command = new Command('bench history')
    .description(
      `Reads ranges of ${RANGES.join(', ')} that end now, of one series and of a host's 100, in the steps that Mackerel shows: ` +
        'raw for an hour, 5 min for 24 h, an hour up to 90 d (three for the host), a day for 460 d.',
    )
    .option('--clients <n>', 'clients, each with an instance of query', '2')
    .option('--seconds <n>', 'how long each kind of query is measured', '3')
    .option('--ingest <n>', 'samples a second of line protocol beside a second round of the same reads', '0')
    .option('--hold <ms>', 'delay of each answer of a store', '0')
    .option(
      '--only <query-range,...>',
      'some kinds of query, such as series-24h,series-30d; of the same data',
    )
    .option('--cpu-prof <dir>', 'write a CPU profile of each kind of query and instance there')
    .option('--json', 'an array on stdout, as the last line');
  command.parse(args, { from: 'user' });
  const options = command.opts<Options>();
  const only = options.only?.split(',');
  const kinds = (['series', 'host'] as const)
    .flatMap((query) => RANGES.map((range) => ({ query, range })))
    .filter(({ query, range }) => only === undefined || only.includes(`${query}-${range}`));
  const dir = mkdtempSync(join(tmpdir(), 'bench-history-'));
  const stores = await startStores(dir);
  try {
    const coldDays = Math.ceil(parseDuration('460d')! / DAY_MS) - 1;
    const data = await writeQueryData(stores, { hosts: 1, nowMs: Date.now(), coldDays, isWhole: true });
    const instances = await QueryInstances.start(dir, stores, Number(options.clients));
    const results: Result[] = [];
    const run = async (underIngest: boolean) => {
      for (const { query, range } of kinds) {
        const measured = await instances.measure(pathOf(data, query, range), data.apiKey, {
          durationMs: Number(options.seconds) * 1000,
          pauseMs: 0,
          holdMs: Number(options.hold),
          profile:
            options.cpuProf &&
            join(options.cpuProf, `${query}-${range}${underIngest ? '-beside-ingest' : ''}`),
        });
        const { p50Ms: ms, emulatorMs: _, ...others } = measured;
        results.push({ query, range, ms, ...others, underIngest });
        process.stderr.write(
          `${query.padEnd(6)} ${range.padEnd(4)} ${timesOf(measured)}, ${measured.rounds} rounds, ` +
            `${measured.requests} requests, ${measured.bytes} bytes\n`,
        );
      }
    };
    await run(false);
    if (Number(options.ingest) > 0) {
      await besideIngest(dir, stores.redisUrl, Number(options.ingest), () => run(true));
      const measuredKinds = results.map((result) => ({ ...result, kind: `${result.query} ${result.range}` }));
      for (const line of growthBesideIngest(measuredKinds)) process.stderr.write(`${line}\n`);
    }
    await instances.stop();
    if (options.json) process.stdout.write(`${JSON.stringify(results)}\n`);
  } finally {
    await stores.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

function pathOf({ hostIds, names, ranges }: QueryData, query: Result['query'], range: Result['range']) {
  const toMs = ranges.hot.toMs - MINUTE_MS;
  const fromMs = ranges.hot.toMs - parseDuration(range)!;
  // An answer has 100,000 values at most.
  const stepS = query === 'host' && range === '90d' ? 3 * 3600 : STEPS[range];
  const asked = `from=${fromMs / 1000}&to=${toMs / 1000}`;
  const step = stepS === undefined ? '' : `&step=${stepS}`;
  return (client: number, turn: number) =>
    query === 'series'
      ? `/api/v0/hosts/${hostIds[0]}/metrics?name=${names[(client + turn * 7) % names.length]}&${asked}${step}`
      : `/api/v1/hosts/${hostIds[0]}/metrics?${names.map((name) => `name=${name}`).join('&')}&${asked}${step}`;
}
