import { createHash } from 'node:crypto';

/** The golden ratio: its multiples, modulo 1, lie evenly for any number of them. */
const STEP = 0.618034;

/**
 * Windows of an hour are first written in the same minute, and would all be due in the same minute too. So each has a share of
 * the longest delay, by which it waits further. Neighbours in a partition have shares that lie evenly, where a hash of each
 * would leave some minutes a fifth more than others; partitions with one group differ by their own hash.
 *
 * The score of a window in the due index is when it was first written, ms by the store's clock; its fraction is this share.
 *
 * @param dueKey key of the partition's due index
 * @param others windows that the index has already
 * @returns thousandths: 0 to 0.999, which a score of 2^41 still tells apart
 */
export function delayShare(dueKey: string, others: number): number {
  const phase = createHash('sha1').update(dueKey).digest().readUInt32BE(0) / 2 ** 32;
  return Math.floor(((phase + others * STEP) % 1) * 1000) / 1000;
}

/** Lua: {@link delayShare}. */
export const DELAY_SHARE = `
local function delayShare(dueKey, others)
  local phase = tonumber(string.sub(redis.sha1hex(dueKey), 1, 8), 16) / 4294967296
  return math.floor((phase + others * ${STEP}) % 1 * 1000) / 1000
end
`;

/** Lua: when the window of a score becomes due, but for the time that all windows stay; `spread` is the longest delay, ms. */
export const DUE_TIME = `
local function dueTime(score, spread)
  local firstWrite = math.floor(score)
  return firstWrite + math.floor((score - firstWrite) * spread)
end
`;
