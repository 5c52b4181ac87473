import type { Command } from 'commander';
import type { SeriesTally } from '../../shared/catalogue/series-tally';
import type { BytesSlice, MonthUsage } from '../../shared/operations/usage-commands';
import { bytesInMonth, estimateCost, shareOfMonth, type TierBytes } from '../../shared/operations/usage-cost';
import { COUNTERS, type Counter } from '../../shared/tenancy/counters';
import { type CommonOptions, command, progress, run } from './command';
import type { Functions } from './invoke';
import { InvalidValueError } from './option-values';
import { table } from './table';

/** `ops usage`. */
export function usageCommand(): Command {
  return command('usage', "show a tenant's usage in a month, its stored bytes, and an estimate of their cost")
    .requiredOption('--tenant <name>', 'the tenant')
    .option('--month <month>', 'UTC month, such as 2026-11', parseMonth, new Date().toISOString().slice(0, 7))
    .action((options: CommonOptions & { tenant: string; month: string }) =>
      run(options, (functions) => report(functions, options.tenant, options.month, new Date()), usageText),
    );
}

/** The output of `ops usage --json`. */
export type UsageReport = Awaited<ReturnType<typeof report>>;

async function report(functions: Functions, tenant: string, month: string, now: Date) {
  const { days, series, firstDay, memoryCopies } = await functions.invoke<MonthUsage>('operator', {
    command: 'usage',
    tenant,
    month,
  });
  const counts = Object.fromEntries(
    COUNTERS.map((name) => [name, Object.values(days).reduce((sum, day) => sum + day[name], 0)]),
  ) as Record<Counter, number>;

  const bytes = await tierBytes(functions, tenant);
  const cost = estimateCost({
    counts,
    bytes: bytesInMonth(bytes, month, counts.samples, firstDay ?? undefined),
    share: shareOfMonth(month, now.getTime()),
    memoryCopies,
  });
  const dollars = cost.reduce((sum, line) => sum + line.dollars, 0);
  return {
    tenant,
    month,
    /** Totals for the month. */
    counts,
    series,
    /** Bytes stored now, regardless of the month. */
    bytes,
    cost,
    dollars,
    dollarsPerBillion: counts.samples === 0 ? null : (dollars / counts.samples) * 1e9,
  };
}

/** Adds up a tenant's bytes in each tier, one partition at a time. */
export async function tierBytes(functions: Functions, tenant: string): Promise<TierBytes> {
  const bytes = { hot: 0, warm: 0, cold: 0 };
  for (let partition: number | null = 0; partition !== null; ) {
    const slice: BytesSlice = await functions.invoke('operator', {
      command: 'usage bytes',
      tenant,
      partition,
    });
    for (const tier of ['hot', 'warm', 'cold'] as const) bytes[tier] += slice.bytes[tier];
    partition = slice.next;
    if (partition !== null) progress(`measured ${partition} partitions`);
  }
  return bytes;
}

function usageText({ tenant, month, counts, series, bytes, cost, dollars, dollarsPerBillion }: UsageReport) {
  const top = (what: string, entries: SeriesTally['topNames']) =>
    table(
      ['series', what],
      entries.slice(0, 10).map(({ name, series: count }) => [String(count), name]),
    );
  return [
    `${tenant} in ${month}: ${counts.samples} samples in ${counts.requests} requests; posts were charged ${counts.samplesCharged} samples`,
    `queries: ${counts.queries}; with the rules, they took ${Math.round(counts.queryMs / 1000)} s of the query function`,
    `series: ${series.active} active, ${series.stored} stored`,
    `bytes now: ${bytes.hot} in memory, ${bytes.warm} in the warm tier, ${bytes.cold} in the archive`,
    '',
    table(
      ['dollars', 'what', 'because'],
      cost.map(({ what, because, dollars: amount }) => [amount.toFixed(4), what, because]),
    ),
    `${dollars.toFixed(4)}  total${dollarsPerBillion === null ? '' : `, ${dollarsPerBillion.toFixed(2)} per billion samples`}`,
    '',
    top('metric name', series.topNames),
    '',
    top('host or service', series.topSources),
  ].join('\n');
}

function parseMonth(text: string): string {
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(text)) throw new InvalidValueError('Give a month such as 2026-11.');
  return text;
}
