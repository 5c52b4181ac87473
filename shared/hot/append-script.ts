/**
 * Appends frames to the group-windows of one partition.
 *
 * KEYS  due index; one for each layout; then for each window: its list of frames, its group's set of windows
 * ARGV  time to live of keys, ms; number of layouts; number of windows;
 *       for each layout its bytes, or '' when they were sent before;
 *       for each window: its member of the due index, its start, its number of frames, the frames
 *
 * Returns the 1-based numbers of the layouts that are not there; nothing was appended unless it is empty.
 * On first touch a window enters the due index, in this same script, with the store's time: a key without an
 * entry there would never be flushed (design.md, rule 4). Layouts outlive the frames that need them: every append
 * gives theirs twice the time, a window's is renewed when what remains of it is kept.
 *
 * The first line makes the store refuse the whole script when memory is full, rather than from its first write of a
 * kind that is always allowed on.
 */
export const APPEND_SCRIPT = `#!lua
local ttl, layouts, windows = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local missing = {}
for i = 1, layouts do
  local bytes = ARGV[3 + i]
  if bytes ~= '' then
    redis.call('SET', KEYS[1 + i], bytes, 'PX', 2 * ttl)
  elseif redis.call('PEXPIRE', KEYS[1 + i], 2 * ttl) == 0 then
    missing[#missing + 1] = i
  end
end
if #missing > 0 then return missing end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local at = 4 + layouts
for w = 1, windows do
  local frames, starts = KEYS[layouts + 2 * w], KEYS[layouts + 2 * w + 1]
  local member, start, count = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
  local from, last = at + 3, at + 2 + count
  local length = 0
  while from <= last do
    local to = math.min(from + 999, last)
    length = redis.call('RPUSH', frames, unpack(ARGV, from, to))
    from = to + 1
  end
  if length == count then
    redis.call('PEXPIRE', frames, ttl)
    redis.call('ZADD', KEYS[1], now, member)
    redis.call('SADD', starts, start)
    redis.call('PEXPIRE', starts, ttl)
  end
  at = last + 1
end
return missing
`;
