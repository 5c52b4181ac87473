import { createHash } from 'node:crypto';
import { STEP } from '../../shared/hot/due-score';

/** Computes what the Lua function `delayShare` of `hot/due-score.ts` returns. */
export function delayShare(dueKey: string, others: number): number {
  const phase = createHash('sha1').update(dueKey).digest().readUInt32BE(0) / 2 ** 32;
  return Math.floor(((phase + others * STEP) % 1) * 1000) / 1000;
}
