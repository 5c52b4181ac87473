/** `npm run bench -- <name> [options]` runs one benchmark; scripts/bench/README.md describes each. */
import './local/node-version';
import { Command } from 'commander';
import { benchArchive } from './bench/archive';
import { benchArchiveDay } from './bench/archive-day';
import { benchCaches } from './bench/caches';
import { benchCodec } from './bench/codec';
import { benchColdStart } from './bench/cold-start';
import { benchElastic } from './bench/elastic';
import { benchFlush } from './bench/flush';
import { benchHistory } from './bench/history';
import { benchHttp } from './bench/http';
import { benchIngest } from './bench/ingest';
import { benchKudu } from './bench/kudu';
import { benchLayout } from './bench/layout';
import { benchMinutes } from './bench/minutes';
import { benchNoisy } from './bench/noisy';
import { benchPaper } from './bench/paper';
import { benchPlacement } from './bench/placement';
import { benchPromql } from './bench/promql';
import { benchQuery } from './bench/query';
import { benchScale } from './bench/scale';
import { benchIndex } from './bench/series-index';
import { benchSpread } from './bench/spread';
import { benchTenants } from './bench/tenants';
import { benchTiers } from './bench/tiers';
import { benchUnits } from './bench/units';

interface Benchmark {
  readonly name: string;
  readonly summary: string;
  run(args: string[]): Promise<void>;
}

const benchmarks: readonly Benchmark[] = [
  { name: 'codec', summary: 'size and speed of chunks, beside Gorilla and zstd', run: benchCodec },
  {
    name: 'archive',
    summary: 'size of archive objects, and how fast they are written and read back',
    run: benchArchive,
  },
  {
    name: 'archive-day',
    summary: 'a partition-day of any size, archived in slices that are killed',
    run: benchArchiveDay,
  },
  {
    name: 'layout',
    summary: 'requests and bytes of reads of an archive object, by the order of its series',
    run: benchLayout,
  },
  {
    name: 'minutes',
    summary: 'a day of a sample a second, read by the minute with and without stored minutes',
    run: benchMinutes,
  },
  {
    name: 'noisy',
    summary: "p99 of a tenant's posts while another tenant exceeds its limit",
    run: benchNoisy,
  },
  { name: 'ingest', summary: 'samples a second into memory, beside the way of the paper', run: benchIngest },
  { name: 'caches', summary: 'what a full cache of layouts costs, as pairs grow', run: benchCaches },
  {
    name: 'elastic',
    summary: 'join time of new cache nodes under load, drained first or not',
    run: benchElastic,
  },
  { name: 'flush', summary: 'samples a second from memory to DynamoDB, beside ingest', run: benchFlush },
  { name: 'query', summary: 'reads from each tier, at rest and beside ingest', run: benchQuery },
  { name: 'history', summary: 'reads of an hour to 460 days, of a series and of a host', run: benchHistory },
  { name: 'promql', summary: 'PromQL over 1,000 sources, beside Prometheus', run: benchPromql },
  {
    name: 'index',
    summary: 'the index of series: bytes, write units, memory, look-ups',
    run: benchIndex,
  },
  {
    name: 'http',
    summary: 'samples a second over HTTP to the local stack, until they can be read',
    run: benchHttp,
  },
  { name: 'paper', summary: 'insertion, flushes and memory, beside the way of the paper', run: benchPaper },
  {
    name: 'placement',
    summary: 'how evenly partitions lie over stream and cache shards',
    run: benchPlacement,
  },
  {
    name: 'kudu',
    summary: 'a sample of each device every second, and sums by minute, hour and day',
    run: benchKudu,
  },
  { name: 'scale', summary: 'CPU, calls and units of a million samples, as series grow', run: benchScale },
  { name: 'spread', summary: 'how even flushes are, and their memory; simulated', run: benchSpread },
  { name: 'tenants', summary: 'a round of the flusher as idle tenants grow', run: benchTenants },
  { name: 'tiers', summary: 'writes and reads of items by 200 clients, on each tier', run: benchTiers },
  {
    name: 'cold-start',
    summary: "size of the functions' bundles, CPU of their initialisation",
    run: benchColdStart,
  },
  { name: 'units', summary: 'everything AWS bills for a day of samples', run: benchUnits },
];

const program = new Command('bench').description('Measures parts of the system. See `bench <name> --help`.');
for (const { name, summary, run } of benchmarks) {
  program
    .command(name)
    .description(summary)
    // The benchmark itself parses everything after its name.
    .helpOption(false)
    .allowUnknownOption()
    .argument('[options...]')
    .action((options: string[]) => run(options));
}

program.parseAsync().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
