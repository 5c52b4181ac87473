import type { Command } from 'commander';
import { DAY_MS } from '../../shared/model/duration';
import type { Tier } from '../../shared/model/tier';
import type { TierPlace } from '../../shared/query/read';
import type { TierPlaces } from '../../shared/query/where';
import { type CommonOptions, callOperator, command } from './command';
import { requireOneSource, type SourceOptions } from './find-source';
import { parseTime, requireOrder } from './option-values';

interface WhereOptions extends SourceOptions {
  readonly name: string;
  /** Half-open range of Unix times in ms. */
  readonly from?: number;
  readonly to?: number;
}

/** `ops where`. */
export function whereCommand(): Command {
  return command('where', "show the Redis keys, DynamoDB items and S3 objects that hold a metric's samples")
    .option('--host <host>', 'the host that posted the metric, by id or name')
    .option('--service <name>', 'the service that posted the metric')
    .requiredOption('--name <metric>', "the metric's name")
    .option('--tenant <name>', 'the tenant of the host or service', 'default')
    .option(
      '--from <time>',
      'start, ISO time (UTC by default) or Unix time in seconds (default: everything retained)',
      parseTime,
    )
    .option(
      '--to <time>',
      'end (exclusive), ISO time (UTC by default) or Unix time in seconds (default: a day ahead)',
      parseTime,
    )
    .action((options: CommonOptions & WhereOptions) => {
      requireOneSource(options);
      requireOrder(options);
      const { tenant, host, service, name, from = 0, to = Date.now() + DAY_MS } = options;
      return callOperator(options, { command: 'where', tenant, host, service, name, from, to }, whereTable);
    });
}

const TIERS: readonly Tier[] = ['hot', 'warm', 'cold'];

/** Formats the result as a table, followed by a line for each place. */
function whereTable(result: Record<Tier, TierPlaces>): string {
  const rows: string[][] = [['tier', 'samples', 'bytes', 'bytes/sample', 'places']];
  for (const tier of TIERS) {
    const { samples, bytes, bytesPerSample, places } = result[tier];
    rows.push([tier, String(samples), String(bytes), bytesPerSample.toFixed(2), String(places.length)]);
  }
  const places = TIERS.flatMap((tier) => result[tier].places.map((place) => placeLine(tier, place)));
  return [...align(rows), ...(places.length > 0 ? ['', ...places] : [])].join('\n');
}

function placeLine(tier: Tier, { place, samples, matched, bytes }: TierPlace): string {
  return `${tier.padEnd(5)} ${place}  (${matched} of ${samples} samples, ${bytes} bytes)`;
}

function align(rows: readonly string[][]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  '),
  );
}
