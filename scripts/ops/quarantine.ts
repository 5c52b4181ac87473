import { Command } from 'commander';
import type { QuarantinedRecord, QuarantineList } from '../../shared/operations/quarantine-commands';
import type { RedriveResult } from '../../shared/recovery/redrive';
import type { RedriveObject } from '../../shared/recovery/redrive-bucket';
import { type CommonOptions, command, progress, run } from './command';
import { type Functions, OperatorError } from './invoke';
import { invokeInSlices } from './invoke-in-slices';

/** `ops quarantine list | show | redrive`. */
export function quarantineCommands(): Command {
  return new Command('quarantine')
    .description('list, show and redrive undecodable records (kept for 90 days) and dead letters')
    .addCommand(
      command('list', 'list quarantined records by shard and sequence number').action(
        (options: CommonOptions) => run(options, listQuarantine, quarantineText),
      ),
    )
    .addCommand(
      command('show', 'show why a record could not be decoded, and its bytes')
        .argument('<key>', "the record's key, as shown by quarantine list")
        .action((key: string, options: CommonOptions) =>
          run(options, (functions) => functions.invoke('recovery', { action: 'show', key }), quarantinedText),
        ),
    )
    .addCommand(
      command('redrive', 'ingest quarantined records again, with their original versions')
        .option(
          '--dead-letters',
          'redrive dead letters instead: batches that the event source mapping gave up on, which a schedule also redrives every 15 minutes',
          false,
        )
        .action((options: CommonOptions & { deadLetters: boolean }) =>
          run(
            options,
            (functions) => redriveAll(functions, options.deadLetters ? 'onFailure' : 'quarantine', progress),
            redriveText,
          ),
        ),
    );
}

/** Lists all quarantined records, page by page. */
async function listQuarantine(functions: Functions): Promise<{ objects: RedriveObject[] }> {
  const objects: RedriveObject[] = [];
  for await (const page of invokeInSlices<QuarantineList>(functions, 'recovery', { action: 'list' }))
    objects.push(...page.objects);
  return { objects };
}

function quarantineText({ objects }: { readonly objects: readonly RedriveObject[] }): string {
  if (objects.length === 0) return 'quarantine is empty';
  const line = ({ key, bytes, modifiedMs }: RedriveObject) =>
    `${key}  ${bytes} bytes, written ${new Date(modifiedMs).toISOString()}`;
  return [...objects.map(line), `${objects.length} records are in quarantine`].join('\n');
}

const SHOWN_BYTES = 512;

function quarantinedText(record: QuarantinedRecord): string {
  const bytes = Buffer.from(record.data, 'base64');
  const lines = [
    `${record.key}: arrived ${new Date(record.arrivalMs).toISOString()}, ${bytes.length} bytes`,
    `reason: ${record.reason}`,
  ];
  for (let at = 0; at < Math.min(bytes.length, SHOWN_BYTES); at += 16) {
    const row = bytes.subarray(at, Math.min(at + 16, SHOWN_BYTES));
    const hex = row.toString('hex').replace(/(..)(?=.)/g, '$1 ');
    lines.push(
      `${at.toString(16).padStart(4, '0')}  ${hex.padEnd(47)}  ${row.toString('latin1').replace(/[^\x20-\x7e]/g, '.')}`,
    );
  }
  if (bytes.length > SHOWN_BYTES)
    lines.push(`${bytes.length - SHOWN_BYTES} more bytes; --json prints all of them, in base64`);
  return lines.join('\n');
}

/** The output of `quarantine redrive --json`. */
export type RedriveTotals = Omit<RedriveResult, 'next' | 'errors' | 'failed' | 'unanswered'>;

/**
 * Redrives everything in quarantine, or all dead letters, slice by slice. Safe to repeat.
 *
 * @throws {OperatorError} if some objects failed; each failure has been printed, and the other objects have been
 *   redriven
 */
export async function redriveAll(
  functions: Pick<Functions, 'invoke'>,
  kind: 'quarantine' | 'onFailure',
  progress: (line: string) => void,
): Promise<RedriveTotals> {
  const totals = { records: 0, poison: 0, waiting: 0, removed: 0 };
  let failed = 0;
  let unanswered = 0;
  // A stage that runs an earlier release does not count unanswered objects.
  type Slice = Omit<RedriveResult, 'unanswered'> & Partial<Pick<RedriveResult, 'unanswered'>>;
  for await (const slice of invokeInSlices<Slice>(functions, 'recovery', { action: 'redrive', kind })) {
    for (const name of ['records', 'poison', 'waiting', 'removed'] as const) totals[name] += slice[name];
    for (const error of slice.errors) progress(error);
    failed += slice.failed;
    unanswered += slice.unanswered ?? 0;
    if (slice.next !== undefined) progress(redriveText(totals));
  }
  if (failed + unanswered > 0)
    throw new OperatorError(
      `${failed} objects could not be redriven, and ${unanswered} wait for a store that is down or full; see the reasons above; repeat the command once the stores work; if an object still fails, see infra/README.md, "Quarantine and dead letters"; ${redriveText(totals)}`,
    );
  return totals;
}

function redriveText({ records, poison, waiting, removed }: RedriveTotals): string {
  return [
    `redrove ${records} records, ${poison} still cannot be decoded`,
    `removed ${removed} objects`,
    `${waiting} objects stay until their samples have left memory; the schedule then removes them`,
  ].join('; ');
}
