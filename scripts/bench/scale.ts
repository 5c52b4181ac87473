/** `npm run bench -- scale`: what a point costs as series grow. */
import { Command } from 'commander';
import { measureIngest, type Phase } from './ingest';

interface Result {
  readonly series: number;
  readonly cpuSecondsPerMillion: number;
  readonly redisCallsPerMillion: number;
  readonly putUnitsPerMillion: number;
}

/** @param args what follows `scale` on the command line */
export async function benchScale(args: string[]): Promise<void> {
  const command = new Command('bench scale')
    .description(
      'CPU of post, ingester and store, and store operations, for a million points of 10 k, 100 k and 1 M series.',
    )
    .option('--protocol <name>', 'mackerel or influx', 'mackerel')
    .option('--json', 'an array on stdout');
  command.parse(args, { from: 'user' });
  const { protocol, json } = command.opts<{ protocol: 'mackerel' | 'influx'; json?: boolean }>();
  const results: Result[] = [];
  for (const hosts of [100, 1_000, 10_000]) {
    // As many points each, so that each is as warm.
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
    for (const { series, cpuSecondsPerMillion, redisCallsPerMillion, putUnitsPerMillion } of results)
      process.stdout.write(
        `${series} series: a million points take ${cpuSecondsPerMillion.toFixed(3)} CPU s, ${Math.round(redisCallsPerMillion)} Redis calls, ${Math.round(putUnitsPerMillion)} put units\n`,
      );
}

function perMillion({ cpu, redisCallsPerMillion, putUnitsPerMillion }: Phase) {
  return {
    cpuSecondsPerMillion: cpu.post + cpu.ingest + cpu.store,
    redisCallsPerMillion,
    putUnitsPerMillion,
  };
}
