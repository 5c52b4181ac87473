/**
 * Removes from a group-window exactly the frames that were moved, once (DESIGN.md, rule 3).
 *
 * KEYS  due index; leases; the list of frames; the group's set of windows; group-windows by lowest arrival
 * ARGV  member of the due index; the window's start; token; how many frames were moved; SHA-1 of those frames;
 *       1 when that was all there was when they were read, 0 when there was more; time to live of what remains, ms
 *
 * Returns how many frames remain, or -1 when nothing was done: the lease is no longer this token's, or the
 * list's head is not what was moved (after a failover to a replica that lagged, a replay may have filled the
 * list with other frames; a count alone would remove those).
 * What remains stays in the due index; when it came after the lease was taken, as first written then.
 */
export const TRIM_SCRIPT = `#!lua flags=allow-oom
local lease = redis.call('HGET', KEYS[2], ARGV[1])
if not lease then return -1 end
local token, taken = string.match(lease, '^(%S+) %d+ (%d+)$')
if token ~= ARGV[3] then return -1 end
local count = tonumber(ARGV[4])
-- LRANGE 0 -1 would be the whole list.
local moved = count > 0 and redis.call('LRANGE', KEYS[3], 0, count - 1) or {}
if #moved ~= count or redis.sha1hex(table.concat(moved)) ~= ARGV[5] then
  redis.call('HDEL', KEYS[2], ARGV[1])
  return -1
end
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('LTRIM', KEYS[3], count, -1)
local left = redis.call('LLEN', KEYS[3])
if left == 0 then
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('SREM', KEYS[4], ARGV[2])
  redis.call('ZREM', KEYS[5], ARGV[1])
else
  redis.call('PEXPIRE', KEYS[3], ARGV[7])
  redis.call('PEXPIRE', KEYS[4], ARGV[7])
  if ARGV[6] == '1' then redis.call('ZADD', KEYS[1], 'XX', taken, ARGV[1]) end
end
return left
`;
