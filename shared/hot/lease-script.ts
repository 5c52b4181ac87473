import { DUE_TIME } from './due-score';
import { NOTE_LEFT, NOW } from './mark-script';

/**
 * Leases group-windows that are due. Skips group-windows whose lease has not expired.
 *
 * KEYS     due; leases; mark
 * ARGV     1  the current time minus the residency, ms by the Redis server's clock: a window is due if its
 *             first write plus its delay is at this time or before
 *          2  maximum number of windows to lease
 *          3  token
 *          4  length of the lease, ms
 *          5  maximum delay of a window, ms (due-score.ts)
 * Returns  the leased members of the due index
 *
 * Notes in the mark that these windows may leave memory ({@link NOTE_LEFT}), so that reads also look for their samples
 * in the warm table. Noting this only at the trim would be too late: a flusher may crash after it has written a window
 * to the warm table, and the window's frames may expire before another flusher leases the window. The script runs even
 * when memory is full (`allow-oom`), since flushing frees memory.
 */
export const LEASE_SCRIPT = `#!lua flags=allow-oom
${NOW}
${DUE_TIME}${NOTE_LEFT}
local spread = tonumber(ARGV[5])
local before, most, token, length = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local taken, offset = {}, 0
while #taken < most do
  local members = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. before + 1, 'WITHSCORES', 'LIMIT', offset, 512)
  for i = 1, #members, 2 do
    local member = members[i]
    local isDue = dueTime(tonumber(members[i + 1]), spread) <= before
    local lease = isDue and #taken < most and redis.call('HGET', KEYS[2], member)
    local expiry = lease and tonumber(string.match(lease, ' (%d+) '))
    if isDue and #taken < most and (not expiry or expiry <= now) then
      redis.call('HSET', KEYS[2], member, string.format('%s %d %d', token, now + length, now))
      taken[#taken + 1] = member
      noteLeft(KEYS[3], tonumber(string.match(member, '(%d+)$')))
    end
  end
  if #members < 1024 then break end
  offset = offset + 512
end
return taken
`;
