import { createHash } from 'node:crypto';

/** The golden ratio: its multiples modulo 1 are spread evenly, however many there are. */
const STEP = 0.618034;

/**
 * Spreads the times at which windows become due.
 *
 * The windows of an hour are first written in the same minute, so they would all become due in the same
 * minute too. Each window therefore waits for an additional share of a longest delay. Shares of the windows
 * of one partition are spread evenly; shares from a hash of each window would leave some minutes a fifth more
 * work than others. The hash of the partition shifts all of its shares, so that partitions with only one
 * group differ from each other.
 *
 * A window's score in the due index is the time of its first write, ms by the store's clock; the score's
 * fraction is the share.
 *
 * @param dueKey key of the partition's due index
 * @param others number of windows that the index already has
 * @returns the share in thousandths, 0 to 0.999; a double of 2^41 still has room for such a fraction
 */
export function delayShare(dueKey: string, others: number): number {
  const phase = createHash('sha1').update(dueKey).digest().readUInt32BE(0) / 2 ** 32;
  return Math.floor(((phase + others * STEP) % 1) * 1000) / 1000;
}

/** The same function as {@link delayShare}, in Lua. */
export const DELAY_SHARE = `
local function delayShare(dueKey, others)
  local phase = tonumber(string.sub(redis.sha1hex(dueKey), 1, 8), 16) / 4294967296
  return math.floor((phase + others * ${STEP}) % 1 * 1000) / 1000
end
`;

/**
 * Lua: computes when a window becomes due from its score, excluding the residency that all windows have.
 * `spread` is the longest delay, ms.
 */
export const DUE_TIME = `
local function dueTime(score, spread)
  local firstWrite = math.floor(score)
  return firstWrite + math.floor((score - firstWrite) * spread)
end
`;
