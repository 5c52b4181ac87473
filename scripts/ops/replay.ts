import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { RecoveryStatus } from '../../shared/recovery/replay';
import { type CommonOptions, command, run } from './command';
import { type Functions, OperatorError } from './invoke';
import { parseTime, requireOrder } from './option-values';
import { interruptibleSlices } from './signals';

export interface ReplayOptions {
  /** Stream arrival time in ms; 0 for the oldest record in the stream. */
  readonly from: number;
  /** Exclusive; undefined for the end of the stream when the replay starts. */
  readonly to: number | undefined;
}

interface ReplayCommandOptions {
  readonly from?: number;
  readonly to?: number;
  readonly status?: boolean;
  readonly stop?: boolean;
  readonly abandon?: boolean;
}

const LOOK_MS = 1_000;

/** `ops replay`. */
export function replayCommand(): Command {
  return command('replay', 'ingest records of the stream again, to restore lost memory; safe to repeat')
    .option(
      '--from <time>',
      'start by arrival time, ISO time (UTC by default) or Unix time in seconds (default: the oldest record in the stream)',
      parseTime,
    )
    .option(
      '--to <time>',
      'end (exclusive) by arrival time (default: the present end of the stream)',
      parseTime,
    )
    .option('--status', 'show the last loss and the last replay instead of starting one')
    .option('--stop', 'stop the running replay')
    .option(
      '--abandon',
      'with --stop: also close an open loss, which would otherwise start another replay within a minute',
    )
    .action((options: CommonOptions & ReplayCommandOptions) => {
      requireOrder(options);
      if (options.abandon && !options.stop) throw new OperatorError('--abandon needs --stop');
      if (options.status && options.stop) throw new OperatorError('give either --status or --stop');
      if ((options.status || options.stop) && (options.from ?? options.to) !== undefined)
        throw new OperatorError('--from and --to start a replay; --status and --stop do not');
      return run(options, (functions) => replayAs(functions, options), statusLine);
    });
}

function replayAs(functions: Functions, options: ReplayCommandOptions): Promise<RecoveryStatus> {
  if (options.stop)
    return functions.invoke('recovery', { action: 'stop', abandon: options.abandon ?? false });
  if (options.status) return functions.invoke('recovery', { action: 'status' });
  return interruptibleSlices(
    'The replay goes on. `replay --status` shows it, `replay --stop` stops it, and the same command watches it again.',
    (tell) => replay(functions, { from: options.from ?? 0, to: options.to }, tell),
  );
}

/**
 * Starts a replay unless a running one covers the same range, and watches it until it ends. If the command is
 * interrupted, the replay continues. Repeating the command watches it again, or replays the same range once more, which
 * changes nothing.
 *
 * @throws {OperatorError} if somebody stops the replay
 */
export async function replay(
  functions: Pick<Functions, 'invoke'>,
  { from, to }: ReplayOptions,
  progress: (line: string) => void,
): Promise<RecoveryStatus> {
  let line = '';
  let id: string | undefined;
  for (;;) {
    const action = id === undefined ? { action: 'replay', from, to } : { action: 'advance' };
    const status = await functions.invoke<RecoveryStatus>('recovery', action);
    const { replay: now } = status;
    if (now?.state === 'running') id = now.id;
    if (id !== undefined && now?.id === id && now.state !== 'running') {
      if (now.state === 'done') return status;
      throw new OperatorError(
        `the replay was stopped before it had read everything: repeat the command to replay its range; ${statusLine(status)}`,
      );
    }
    const text = statusLine(status);
    if (text !== line) progress(text);
    line = text;
    await sleep(LOOK_MS);
  }
}

/** Formats the state of recovery in one line. */
export function statusLine({ loss, replay: now, shards, lostObjects }: RecoveryStatus): string {
  if (!now)
    return loss?.isOpen
      ? `loss noticed ${timeText(loss.noticedMs)}: ${loss.reason}; its replay starts within a minute`
      : 'no loss was detected, and no replay has run';
  const passed = shards.filter(({ isPassed }) => isPassed).length;
  const of =
    now.state === 'running' ? `${passed} of ${shards.length} shards read so far` : `${passed} shards read`;
  const arrived = shards.filter(({ isPassed }) => !isPassed).map(({ arrivedMs }) => arrivedMs);
  const at = arrived.length === 0 ? '' : `, the slowest at ${timeText(Math.min(...arrived))}`;
  const range = `${timeText(now.fromMs)} to ${timeText(now.toMs ?? Number.POSITIVE_INFINITY)}`;
  const why = now.loss ? ` after a loss (${loss?.reason})` : '';
  return `replay ${now.id} of ${range}${why}: ${now.state}, ${of}${at}${lostObjects ? lostText(lostObjects) : ''}`;
}

function lostText({ count, first }: Required<RecoveryStatus>['lostObjects']): string {
  if (count === 0) return '';
  const more = count > first.length ? ` and ${count - first.length} more` : '';
  return [
    '',
    `the loss stays open until these redriven objects are ingested again: ${first.join(', ')}${more}`,
    'recovery tries each minute; `quarantine redrive`, or with `--dead-letters`, tries now and says why one fails',
    'if one never succeeds although the stores work and memory has room, delete it from the bucket: its samples are given up',
  ].join('; ');
}

function timeText(ms: number): string {
  if (ms === 0) return 'the beginning of the stream';
  return Number.isFinite(ms) ? new Date(ms).toISOString() : 'now';
}
