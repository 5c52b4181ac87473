import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { bodiesOf } from '../../../shared/alerting/result-bodies';
import { labelsKey } from '../../../shared/model/labels';
import type { SampleColumns } from '../../../shared/model/sample-columns';
import type { RuleGroup } from '../../../shared/rules/rule-document';
import { apiUrlOf, apiUrlOption } from '../api-url';
import { type CommonOptions, command, run } from '../command';
import { withCommandKey } from '../command-key';
import { parseRate, sendImport } from '../import';
import { type Functions, OperatorError } from '../invoke';
import { TenantApi } from '../tenant-api';
import { evaluateHistory, failureLines, groupsOf, type HistoryOptions, historyCommand } from './history';
import { RemoteReadStore } from './remote-read-store';

type BackfillOptions = CommonOptions &
  HistoryOptions & {
    readonly apiUrl?: string;
    readonly tenant: string;
    readonly dryRun?: boolean;
    /** Samples per second. */
    readonly rate: number;
  };

/** Lifetime of the key that the command reads with, in ms. */
const KEY_LIFETIME_MS = 24 * 3_600_000;

/** `ops rules backfill`. */
export function backfillCommand(): Command {
  return historyCommand(
    command('backfill', "compute a file's recording rules over history and store the results"),
  )
    .addOption(apiUrlOption())
    .option('--tenant <name>', 'tenant whose samples are read and that receives the results', 'default')
    .option('--rate <n>', 'maximum samples per second', parseRate, 20_000)
    .option('--dry-run', 'evaluate the rules and count the results; store nothing')
    .addHelpText(
      'after',
      `
A result replaces a stored sample of the same series and time. A repeated run stores the same results again. Results of
alerting rules are not stored. Exits with 1 if a rule fails in a tick; the results of the other rules are stored all the same.`,
    )
    .action((file: string, options: BackfillOptions) => {
      const groups = groupsOf(file, options);
      if (!groups.some(({ rules }) => rules.some(({ kind }) => kind === 'recording')))
        throw new OperatorError(`${file} has no recording rule`);
      return run(options, (functions) => backfill(functions, groups, options), textOf);
    });
}

/** What the command prints as JSON. */
export type BackfillResult = Awaited<ReturnType<typeof backfill>>;

async function backfill(functions: Functions, groups: readonly RuleGroup[], options: BackfillOptions) {
  const { tenant, dryRun = false, rate } = options;
  return withCommandKey(functions, { tenant, rights: ['read'], lifetimeMs: KEY_LIFETIME_MS }, async (key) => {
    const series = new Set<string>();
    /** Number of samples that the importer refused, for each reason. */
    const refused: Record<string, number> = {};
    /** Number of samples stored, stale markers included. */
    let samples = 0;
    const send = async (recorded: readonly SampleColumns[]) => {
      const beganMs = performance.now();
      const count = recorded.reduce((sum, { timestamps }) => sum + timestamps.length, 0);
      samples += count;
      for (const { labels } of recorded) series.add(labelsKey(labels));
      if (dryRun) return;
      for (const body of bodiesOf(recorded)) {
        const imported = await sendImport(functions, { tenant, body: Buffer.from(body).toString('base64') });
        if (imported.refused === 0) continue;
        const reason = imported.reasons[0] ?? 'the importer left them out';
        refused[reason] = (refused[reason] ?? 0) + imported.refused;
        samples -= imported.refused;
      }
      await sleep(Math.max(0, beganMs + (1000 * count) / rate - performance.now()));
    };
    const store = new RemoteReadStore(new TenantApi(apiUrlOf(options), key));
    const { ticks, failures } = await evaluateHistory(groups, options, store, (part) => send(part.recorded));
    if (failures.length > 0) process.exitCode = 1;
    return { dryRun, evaluations: ticks, series: series.size, samples, refused, failures };
  });
}

function textOf({ dryRun, evaluations, series, samples, refused, failures }: BackfillResult): string {
  return [
    `${evaluations} evaluations: ${samples} samples of ${series} series ${dryRun ? 'would be stored' : 'stored'}`,
    ...Object.entries(refused).map(([reason, count]) => `refused ${count}: ${reason}`),
    ...failureLines(failures),
  ].join('\n');
}
