import { NOW, seeLeft } from './mark-script';

/**
 * Leases group-windows that are due. A leased one is skipped until its lease expires.
 *
 * KEYS     due; leases; mark
 * ARGV     1  latest time of first write, ms, by the store's clock
 *          2  most to lease
 *          3  token
 *          4  length of the lease, ms
 * Returns  the members leased
 *
 * The mark notes that a flusher of this release looks at the partition. Runs when memory is full (`allow-oom`), since flushing frees memory.
 */
export const LEASE_SCRIPT = `#!lua flags=allow-oom
${NOW}
local seen = redis.call('HMGET', KEYS[3], 'node', 'left', 'leftSeen')
${seeLeft('KEYS[3]', 'seen')}local before, most, token, length = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local taken, offset = {}, 0
while #taken < most do
  local members = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', before, 'LIMIT', offset, most)
  for _, member in ipairs(members) do
    local lease = redis.call('HGET', KEYS[2], member)
    local expiry = lease and tonumber(string.match(lease, ' (%d+) '))
    if #taken < most and (not expiry or expiry <= now) then
      redis.call('HSET', KEYS[2], member, string.format('%s %d %d', token, now + length, now))
      taken[#taken + 1] = member
    end
  end
  if #members < most then break end
  offset = offset + #members
end
return taken
`;
