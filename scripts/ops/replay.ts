import { setTimeout as sleep } from 'node:timers/promises';
import type { RecoveryStatus } from '../../shared/recovery/replay';
import type { Functions } from './invoke';

export interface ReplayOptions {
  /** Stream arrival time, ms; 0 for all that the stream has. */
  readonly from: number;
  /** Not included; undefined: all that has arrived by now. */
  readonly to: number | undefined;
}

const LOOK_MS = 1_000;

/**
 * Starts a replay, unless one that covers it runs, and watches it to its end. Interrupting the command leaves the replay
 * running; repeating the command watches it again, or reads once more what was read, which changes nothing.
 */
export async function replay(
  functions: Functions,
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
    if (id !== undefined && now !== null && now?.id === id && now.state !== 'running') return status;
    const text = progressLine(status);
    if (text !== line) progress(text);
    line = text;
    await sleep(LOOK_MS);
  }
}

/** One line on where recovery stands. */
export function progressLine({ loss, replay: now, shards }: RecoveryStatus): string {
  if (!now)
    return loss?.isOpen ? `a loss was noticed: ${loss.reason}` : 'nothing is lost, nothing is replayed';
  const passed = shards.filter(({ isPassed }) => isPassed).length;
  const arrived = shards.filter(({ isPassed }) => !isPassed).map(({ arrivedMs }) => arrivedMs);
  const at = arrived.length === 0 ? '' : `, the slowest at ${timeText(Math.min(...arrived))}`;
  const span = `${timeText(now.fromMs)} to ${timeText(now.toMs ?? Number.POSITIVE_INFINITY)}`;
  const why = now.loss ? ` after a loss (${loss?.reason})` : '';
  return `replay ${now.id} of ${span}${why}: ${now.state}, ${passed} shards read${at}`;
}

function timeText(ms: number): string {
  if (ms === 0) return 'the beginning of the stream';
  return Number.isFinite(ms) ? new Date(ms).toISOString() : 'now';
}
