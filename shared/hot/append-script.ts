import { MARK_OF_THIS_NODE } from './mark-script';

/**
 * Appends frames to the group-windows of one partition.
 *
 * KEYS  mark; due index; group-windows by lowest arrival; one for each layout; then for each window: its list of
 *       frames, its group's set of windows
 * ARGV  time to live of keys, ms; lowest stream arrival time of the frames, ms; 1 for a replay, else 0;
 *       number of layouts; number of windows; for each layout its bytes, or '' when they were sent before;
 *       for each window: its member of the due index, its start, its number of frames, the frames
 *
 * Returns {-1} when the partition's mark is missing or another primary's, so that something may have been lost; else the
 * 1-based numbers of the layouts that are not there. Nothing was appended unless that is empty.
 * On first touch a window enters the due index, in this same script, with the store's time: a key without an
 * entry there would never be flushed (DESIGN.md, rule 4). Layouts outlive the frames that need them: every append
 * gives theirs twice the time, a window's is renewed when what remains of it is kept.
 *
 * The first line makes the store refuse the whole script when memory is full, rather than from its first write of a
 * kind that is always allowed on.
 */
export const APPEND_SCRIPT = `#!lua
if not (${MARK_OF_THIS_NODE}) then return {-1} end
local ttl, arrival, replays = tonumber(ARGV[1]), ARGV[2], ARGV[3] == '1'
local layouts, windows = tonumber(ARGV[4]), tonumber(ARGV[5])
local missing = {}
for i = 1, layouts do
  local bytes = ARGV[5 + i]
  if bytes ~= '' then
    redis.call('SET', KEYS[3 + i], bytes, 'PX', 2 * ttl)
  elseif redis.call('PEXPIRE', KEYS[3 + i], 2 * ttl) == 0 then
    missing[#missing + 1] = i
  end
end
if #missing > 0 then return missing end

-- A batch arrived no earlier than the one before, so what a failover takes arrived no earlier than the last that is left.
if not replays then redis.call('HSET', KEYS[1], 'arrived', arrival) end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local at = 6 + layouts
for w = 1, windows do
  local frames, starts = KEYS[layouts + 2 + 2 * w], KEYS[layouts + 3 + 2 * w]
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
    redis.call('ZADD', KEYS[2], now, member)
    redis.call('SADD', starts, start)
    redis.call('PEXPIRE', starts, ttl)
  end
  if length == count or replays then redis.call('ZADD', KEYS[3], 'LT', arrival, member) end
  at = last + 1
end
return missing
`;
