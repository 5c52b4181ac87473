import type { Command } from 'commander';
import type { FlushResult } from '../../functions/flusher/handler';
import { type CommonOptions, command, progress, run } from './command';
import { findSource } from './find-source';
import { type Functions, OperatorError } from './invoke';
import { interruptibleSlices } from './signals';

export interface DrainResult {
  readonly windows: number;
  readonly samples: number;
  readonly bytes: number;
}

/**
 * The command fails after this many consecutive slices without progress. By then, the leases of flushers that have
 * ended have expired, so they cannot be the cause.
 */
const MAX_IDLE_SLICES = 90;
const IDLE_MS = 2_000;

/** A host whose partition is drained. */
export interface DrainedHost {
  readonly tenant: string;
  readonly id: string;
}

/** `ops drain`. */
export function drainCommand(): Command {
  return command('drain', 'flush everything in memory to the warm tier now')
    .option('--host <host>', "flush only this host's partition; id or name")
    .option('--tenant <name>', 'the host\'s tenant (default: "default")')
    .action((options: CommonOptions & { host?: string; tenant?: string }) => {
      if (options.tenant !== undefined && options.host === undefined)
        throw new OperatorError('--tenant needs --host; without both, every tenant is drained');
      return run(options, (functions) => drainAs(functions, options), drainText);
    });
}

async function drainAs(
  functions: Functions,
  { host, tenant = 'default' }: { readonly host?: string; readonly tenant?: string },
): Promise<DrainResult> {
  const found = host === undefined ? undefined : await findSource(functions, { tenant, host });
  if (found !== undefined) progress(`draining the partition of ${found.text}`);
  const goOn = 'The flushers finish what they have begun. To go on, run the command again.';
  return interruptibleSlices(goOn, (tell) => drain(functions, tell, found && { tenant, id: found.id }));
}

function drainText({ windows, samples, bytes }: DrainResult): string {
  return `drained ${windows} group-windows: ${samples} samples in ${bytes} bytes`;
}

/** Flushes all of memory, or one host's partition, slice by slice. */
export async function drain(
  functions: Pick<Functions, 'invoke'>,
  progress: (line: string) => void,
  host?: DrainedHost,
): Promise<DrainResult> {
  let before: number | undefined;
  let windows = 0;
  let samples = 0;
  let bytes = 0;
  for (let idle = 0; ; ) {
    const slice: FlushResult = await functions.invoke('flusher', { drain: true, before, host });
    before = slice.before;
    windows += slice.windows;
    samples += slice.samples;
    bytes += slice.bytes;
    if (slice.remaining === 0) return { windows, samples, bytes };
    progress(`${windows} group-windows moved, ${slice.remaining} remain`);
    idle = slice.windows === 0 ? idle + 1 : 0;
    if (idle === MAX_IDLE_SLICES)
      throw new OperatorError(`${slice.remaining} group-windows could not be flushed; see the flusher's log`);
    if (slice.windows === 0) await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  }
}
