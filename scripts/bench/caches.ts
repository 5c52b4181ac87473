/** `npm run bench -- caches`: what the ingester's memory of catalogued layouts takes, and how it behaves beyond its room. */
import { Command } from 'commander';
import { CompactMap } from '../../shared/model/compact-map';

interface Options {
  readonly entries: string;
  readonly json?: boolean;
}

interface Row {
  readonly pairs: number;
  /** Share of the look-ups of a turn that found their pair; each other one is a write to the catalogue. */
  readonly hits: number;
  /** CPU time. */
  readonly nsPerLookUp: number;
}

/** Pairs as multiples of the room. */
const SWEEP = [0.1, 0.5, 1, 1.25, 1.5, 2, 3, 4];
/** Intervals in which every pair is looked up once, and put if it is not found. */
const TURNS = 4;

/** @param args what follows `caches` on the command line */
export async function benchCaches(args: string[]): Promise<void> {
  const command = new Command('bench caches')
    .description(
      'Looks pairs of group and layout up in turns, as every interval of every host does, and puts those that are missing: for ' +
        'ever more pairs, up to four times the room.',
    )
    .option('--entries <n>', 'room for pairs; the ingester has two million', '2000000')
    .option('--json', 'one object on stdout');
  command.parse(args, { from: 'user' });
  const options = command.opts<Options>();
  const rows = SWEEP.map((share) =>
    sweep(Math.round(share * Number(options.entries)), Number(options.entries)),
  );
  if (options.json) process.stdout.write(`${JSON.stringify(rows)}\n`);
  else
    for (const { pairs, hits, nsPerLookUp } of rows)
      process.stdout.write(
        `${String(pairs).padStart(9)} pairs: ${(100 * hits).toFixed(2).padStart(6)} % found, ` +
          `${nsPerLookUp.toFixed(0)} ns a look-up\n`,
      );
}

function sweep(pairs: number, entries: number): Row {
  const map = new CompactMap(entries);
  let hits = 0;
  let begin = process.cpuUsage();
  for (let turn = 0; turn < TURNS; turn++) {
    hits = 0;
    begin = process.cpuUsage();
    for (let i = 0; i < pairs; i++) {
      const text = `group-of-27-characters-${i}#layout-of-22-characters#3600000`;
      if (map.get(text) === undefined) map.set(text, turn);
      else hits++;
    }
  }
  const { user, system } = process.cpuUsage(begin);
  return { pairs, hits: hits / pairs, nsPerLookUp: ((user + system) * 1000) / pairs };
}
