/** `npm run bench -- query`: time and cost of reads from each tier. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../../shared/model/duration';
import { besideIngest, growthBesideIngest } from './beside-ingest';
import { type QueryData, writeQueryData } from './query-data';
import { HOLD_MS, type Measured, QueryInstances, timesOf } from './query-instances';
import { startStores } from './stores';

interface Options {
  readonly hosts: string;
  readonly clients: string;
  readonly seconds: string;
  /** ms */
  readonly pause: number;
  readonly ingest: string;
  readonly only?: string;
  readonly cpuProf?: string;
  readonly json?: boolean;
}

interface Result extends Measured {
  readonly query: 'series' | 'host';
  readonly tier: 'hot' | 'warm' | 'cold';
  readonly underIngest: boolean;
}

function parsePause(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('give a duration such as 100ms.');
  return ms;
}

/** @param args what follows `query` on the command line */
export async function benchQuery(args: string[]): Promise<void> {
  const command = new Command('bench query')
    .description(
      "Reads one series (`GET /api/v0/hosts/{id}/metrics`) and a host's 100 series (`GET /api/v1/hosts/{id}/metrics`): " +
        '1 h from memory, 24 h from DynamoDB, 30 days from S3 (of the 100 series in steps of an hour); at rest, and beside ingest.',
    )
    .option('--hosts <n>', 'hosts to read, 100 metrics each', '8')
    .option(
      '--clients <n>',
      'clients, each of which sends its next query when it has an answer; and as many instances of query',
      '8',
    )
    .addOption(
      new Option('--pause <duration>', 'mean time between two queries of a client; 0s keeps every core busy')
        .argParser(parsePause)
        .default(0, '0s'),
    )
    .option('--seconds <n>', 'how long each kind of query is measured', '5')
    .option(
      '--ingest <n>',
      'samples a second of line protocol beside the reads; 0 leaves that half out',
      '100000',
    )
    .option('--only <query-tier>', 'one kind of query, such as series-hot')
    .option('--cpu-prof <dir>', 'write a CPU profile of each kind of query and instance there')
    .option('--json', 'an array on stdout, as the last line')
    .addHelpText(
      'after',
      '\nReal: the query handler, bundled as it is deployed, Valkey, the SDK and its HTTP to the stand-in for DynamoDB and S3 (ministack).\n' +
        'Stubbed: API Gateway and Lambda are a plain HTTP server in each instance; an instance answers one request at a time, as\n' +
        'in Lambda. Times are from request to answer over loopback, less the time in which an answer of the stand-in for AWS was\n' +
        'waited for (emulator). Rounds are how many times a query waits for stores one after the other: by how much it slows\n' +
        `when each of their answers is held back for ${HOLD_MS} ms. Bytes are those of the stores' requests and answers.`,
    );
  command.parse(args, { from: 'user' });
  const options = command.opts<Options>();
  const dir = mkdtempSync(join(tmpdir(), 'bench-query-'));
  const stores = await startStores(dir);
  let instances: QueryInstances | undefined;
  try {
    const data = await writeQueryData(stores, { hosts: Number(options.hosts), nowMs: Date.now() });
    instances = await QueryInstances.start(dir, stores, Number(options.clients));
    const reader = instances;
    const results: Result[] = [];
    const run = async (underIngest: boolean) => {
      for (const tier of ['hot', 'warm', 'cold'] as const)
        for (const query of ['series', 'host'] as const)
          if (options.only === undefined || options.only === `${query}-${tier}`) {
            const measured = await reader.measure(pathOf(data, query, tier), data.apiKey, {
              durationMs: Number(options.seconds) * 1000,
              pauseMs: options.pause,
              profile:
                options.cpuProf &&
                join(options.cpuProf, `${query}-${tier}${underIngest ? '-beside-ingest' : ''}`),
            });
            results.push({ query, tier, ...measured, underIngest });
            process.stderr.write(`${describe(results.at(-1)!)}\n`);
          }
    };
    await run(false);
    if (Number(options.ingest) > 0) {
      await besideIngest(dir, stores.redisUrl, Number(options.ingest), () => run(true));
      const kinds = results.map((result) => ({ ...result, kind: `${result.query} ${result.tier}` }));
      for (const line of growthBesideIngest(kinds)) process.stderr.write(`${line}\n`);
    }
    if (options.json) process.stdout.write(`${JSON.stringify(results)}\n`);
  } finally {
    await instances?.stop();
    await stores.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Path of a query; clients and turns vary the host and the series. */
function pathOf({ hostIds, names, ranges }: QueryData, query: Result['query'], tier: Result['tier']) {
  const { fromMs, toMs } = ranges[tier];
  // Both ends are included.
  const range = `from=${fromMs / 1000}&to=${toMs / 1000 - 60}`;
  return (i: number, turn: number) => {
    const host = hostIds[(i + turn) % hostIds.length]!;
    return query === 'series'
      ? `/api/v0/hosts/${host}/metrics?name=${names[(i + turn * 7) % names.length]}&${range}`
      : `/api/v1/hosts/${host}/metrics?${names.map((name) => `name=${name}`).join('&')}&${range}${tier === 'cold' ? '&step=3600' : ''}`;
  };
}

function describe({ query, tier, underIngest, ...measured }: Result) {
  const { rounds, requests, bytes, emulatorMs } = measured;
  return (
    `${query.padEnd(6)} ${tier.padEnd(4)} ${underIngest ? 'beside ingest' : 'at rest      '} ${timesOf(measured)}, ` +
    `${rounds} rounds, ${requests} requests, ${bytes} bytes; emulator ${emulatorMs} ms`
  );
}
