/**
 * Removes from a group-window exactly the frames that were moved, once (DESIGN.md, rule 3).
 *
 * KEYS     due; leases; the window's frames; its group's windows; arrived; mark
 * ARGV     1  member of the due index
 *          2  the window's start, ms
 *          3  token of the lease
 *          4  number of frames that were moved
 *          5  hex SHA-1 of those frames, concatenated
 *          6  1 if the window held no other frames when they were read, else 0
 *          7  time to live of the frames that remain, ms
 * Returns  the number of frames that remain; -1 when nothing was removed, because the lease no longer has
 *          this token, or because the list does not begin with the frames that were moved. After a failover to
 *          a lagging replica and a replay, a list can have other frames. A trim by count alone would remove
 *          these frames, although they were not moved
 *
 * If a window is due but has no frames, its frames have expired. The script then sets `expired` in the mark, so that
 * the loss is noticed. A window with remaining frames stays in the due index. If the moved frames were all of the
 * window's frames when they were read, the remaining frames are newer than the lease. The time of the lease then counts
 * as the window's first write, which decides when the window is due again. The script runs even when memory is full
 * (`allow-oom`), since a trim frees memory.
 */
export const TRIM_SCRIPT = `#!lua flags=allow-oom
local lease = redis.call('HGET', KEYS[2], ARGV[1])
if not lease then return -1 end
local token, taken = string.match(lease, '^(%S+) %d+ (%d+)$')
if token ~= ARGV[3] then return -1 end
local count = tonumber(ARGV[4])
-- If count is 0, do not call LRANGE: LRANGE 0 -1 would return the whole list.
local moved = count > 0 and redis.call('LRANGE', KEYS[3], 0, count - 1) or {}
if #moved ~= count or redis.sha1hex(table.concat(moved)) ~= ARGV[5] then
  redis.call('HDEL', KEYS[2], ARGV[1])
  return -1
end
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('LTRIM', KEYS[3], count, -1)
local remaining = redis.call('LLEN', KEYS[3])
if remaining == 0 then
  if count == 0 and redis.call('EXISTS', KEYS[6]) == 1 then redis.call('HSET', KEYS[6], 'expired', 1) end
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('SREM', KEYS[4], ARGV[2])
  redis.call('ZREM', KEYS[5], ARGV[1])
else
  redis.call('PEXPIRE', KEYS[3], ARGV[7])
  redis.call('PEXPIRE', KEYS[4], ARGV[7])
  if ARGV[6] == '1' then redis.call('ZADD', KEYS[1], 'XX', taken, ARGV[1]) end
end
return remaining
`;
