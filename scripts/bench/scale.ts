/** `npm run bench -- scale`: CPU, calls and units of a million samples, as series grow. */
import { Command } from 'commander';
import { measureIngest, type Phase } from './ingest';

interface Result {
  readonly series: number;
  readonly cpuSecondsPerMillion: number;
  readonly redisCallsPerMillion: number;
  readonly writeUnitsPerMillion: number;
  readonly putUnitsPerMillion: number;
}

/** @param args what follows `scale` on the command line */
export async function benchScale(args: string[]): Promise<void> {
  const command = new Command('bench scale')
    .description(
      'CPU of post, ingester and store, and calls to stores, for a million samples of 10 k, 100 k and 1 M known series. ' +
        '`bench flush` counts the write units of flushes.',
    )
    .option('--protocol <name>', 'mackerel or influx', 'mackerel')
    .option('--json', 'an array on stdout');
  command.parse(args, { from: 'user' });
  const { protocol, json } = command.opts<{ protocol: 'mackerel' | 'influx'; json?: boolean }>();
  const results: Result[] = [];
  for (const hosts of [100, 1_000, 10_000]) {
    // The same number of samples each, so that each is equally warm.
    const minutes = String(Math.max(4, Math.ceil(3_000_000 / (hosts * 100))));
    const { warm } = await measureIngest({
      hosts: String(hosts),
      metrics: '100',
      minutes,
      workers: '2',
      protocol,
      json,
    });
    results.push({ series: hosts * 100, ...perMillion(warm) });
  }
  if (json) process.stdout.write(`${JSON.stringify(results)}\n`);
  else
    for (const result of results)
      process.stdout.write(
        `${result.series} series: a million samples take ${result.cpuSecondsPerMillion.toFixed(3)} CPU s, ` +
          `${Math.round(result.redisCallsPerMillion)} Redis calls, ${Math.round(result.writeUnitsPerMillion)} write units, ` +
          `${Math.round(result.putUnitsPerMillion)} put units\n`,
      );
}

function perMillion({ cpu, redisCallsPerMillion, writeUnitsPerMillion, putUnitsPerMillion }: Phase) {
  return {
    cpuSecondsPerMillion: cpu.post + cpu.ingest + cpu.store,
    redisCallsPerMillion,
    writeUnitsPerMillion,
    putUnitsPerMillion,
  };
}
