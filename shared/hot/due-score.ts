/**
 * The golden ratio, without its integer part. However many of its multiples are taken, modulo 1, they are spread evenly
 * over [0, 1).
 */
export const STEP = 0.618034;

/**
 * Lua: `delayShare(dueKey, others)` returns the delay of a new group-window, as a share of the maximum delay: a
 * multiple of 0.001 from 0 to 0.999. `dueKey` is the key of the partition's due index, `others` the number of
 * group-windows that the index already has. The delays spread the work of flushing over time.
 *
 * Without them, group-windows would become due together: all group-windows of an hour are first written in the same
 * minute. So each group-window also waits for a share of the maximum delay, which is a setting. The shares of a
 * partition's group-windows are multiples of the golden ratio, so they are spread evenly. (Hashes of the group-windows
 * would give some minutes a fifth more work than others.) A hash of the partition is added to all shares of the
 * partition. Otherwise partitions with only one group would all have the same share.
 *
 * In the due index, the score of a group-window is the time of its first write, in ms by the Redis server's clock, plus
 * the share as a fraction. A double with the current time has room for such a fraction.
 */
export const DELAY_SHARE = `
local function delayShare(dueKey, others)
  local phase = tonumber(string.sub(redis.sha1hex(dueKey), 1, 8), 16) / 4294967296
  return math.floor((phase + others * ${STEP}) % 1 * 1000) / 1000
end
`;

/**
 * Lua: `dueTime(score, spread)` computes, from a score in the due index, the time of the group-window's first write
 * plus the group-window's own delay, in ms. The group-window is due one residency after the result. `spread` is the
 * maximum delay, in ms.
 */
export const DUE_TIME = `
local function dueTime(score, spread)
  local firstWrite = math.floor(score)
  return firstWrite + math.floor((score - firstWrite) * spread)
end
`;
