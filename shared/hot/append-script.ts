import { DELAY_SHARE } from './due-score';
import { HAS_GOOD_MARK } from './mark-script';

/**
 * Appends frames to the group-windows of one partition.
 *
 * KEYS     mark; due; arrived; one key for each layout; then for each window: its frames, its group's windows
 *          (hot-keys.ts has the form of each key)
 * ARGV     1  time to live of keys, ms
 *          2  lowest arrival time of the frames in the stream, ms
 *          3  1 for a replay, else 0
 *          4  number of layouts
 *          5  number of windows
 *          then for each layout its bytes, or '' if memory probably has them;
 *          then for each window: its member of the due index, its start, its number of frames, the frames
 * Returns  {} when everything was appended. Otherwise nothing was appended, and the reply is
 *          {-1} when the partition has no good mark: memory may have lost samples
 *          {i, ...} when memory lacks the layouts with these numbers (the first is 1): the caller then sends
 *          their bytes in a second call
 * Fails    with OOM when memory is full, before anything is written: the script lacks the flag `allow-oom`
 *
 * The call that appends the first frame of a window also enters the window in the due index, with the time of the
 * Redis server's clock (due-score.ts). Flushers find windows only by these entries (DESIGN.md, rule 4).
 *
 * Layouts must outlive the frames that need them. A trim renews the time to live of the remaining frames, but not of
 * their layouts. So each append gives its layouts twice the time to live that frames have.
 *
 * If a window has an entry in the due index but no frames, its frames have expired. The script then sets `expired` in
 * the mark, so that the loss is noticed, and still appends the new frames.
 */
export const APPEND_SCRIPT = `#!lua
if not (${HAS_GOOD_MARK}) then return {-1} end
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

-- The field arrived is the lowest arrival time in the newest batch. Batches arrive in order. So if a failover
-- loses frames, they arrived at or after the time in the surviving copy of this field.
if not replays then redis.call('HSET', KEYS[1], 'arrived', arrival) end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local at = 6 + layouts
${DELAY_SHARE}for w = 1, windows do
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
    local share = delayShare(KEYS[2], redis.call('ZCARD', KEYS[2]))
    local isNew = redis.call('ZADD', KEYS[2], string.format('%.3f', now + share), member) == 1
    -- A trim removes a window's last frames and its entry together, so the frames of this entry have expired.
    if not isNew then redis.call('HSET', KEYS[1], 'expired', 1) end
    redis.call('SADD', starts, start)
    redis.call('PEXPIRE', starts, ttl)
  end
  if length == count or replays then redis.call('ZADD', KEYS[3], 'LT', arrival, member) end
  at = last + 1
end
return missing
`;
