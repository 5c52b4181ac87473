/**
 * Lua: the replication id of the primary that runs the script. A replica gets a new id when it is promoted.
 */
export const THIS_NODE = `string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')`;

/** The replication id that Valkey reports for a node that has none. */
export const NO_NODE = '0'.repeat(40);

/**
 * Lua: whether the mark of the partition is good. A good mark names the primary that runs the script, and lacks the
 * field `expired`. That field would mean that frames expired before a flusher moved them. If the mark is good, the
 * primary has every sample that was appended and not yet flushed.
 */
export const HAS_GOOD_MARK = `redis.call('HGET', KEYS[1], 'node') == ${THIS_NODE} and redis.call('HEXISTS', KEYS[1], 'expired') == 0`;

/**
 * Upper bound on how far in the future a window with samples may start, in ms: post accepts samples up to a day ahead.
 */
const AHEAD_MS = 2 * 86_400_000;

/** Lua: sets `now` to the time of the Redis server's clock, in ms. */
export const NOW = `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

/**
 * Lua: writes the fields `made` and `era` of a mark; leaves `era` unchanged if the argument is ''. Needs {@link NOW}.
 */
const MAKE_MARK = (era: string) => `redis.call('HSET', KEYS[1], 'made', time[1] .. '.' .. time[2])
if ${era} ~= '' then redis.call('HSET', KEYS[1], 'era', ${era}) end`;

/**
 * Lua: makes the script return 0 if the mark or the primary has changed since the caller read the mark. Without this
 * check, an instance that stalled after it had read the mark could overwrite a newer mark, or could mark an empty node
 * that has replaced the primary. Sets `here` to the replication id of the primary.
 *
 * ARGV     1  replication id in the mark that was found, and ' expired' if it had this field; '' if there was no mark
 *          2  replication id of the primary on which the mark was found
 */
const UNLESS_CHANGED = `local here = ${THIS_NODE}
local found = redis.call('HMGET', KEYS[1], 'node', 'expired')
if here ~= ARGV[2] or (found[1] or '') .. (found[2] and ' expired' or '') ~= ARGV[1] then return 0 end`;

/**
 * Writes the mark of a partition after a loss. After that the mark names the primary that runs the script, so appends
 * can resume.
 *
 * KEYS     mark
 * ARGV     1  and 2: see {@link UNLESS_CHANGED}
 *          3  id of the loss
 *          4  the era's number (recovery/era.ts), or '' to leave it as it is
 * Returns  1; 0 when the mark or the primary has changed: then the script changes nothing
 *
 * Any window may have left memory, so `left` ({@link NOTE_LEFT}) covers all windows that may exist. The script runs
 * even when memory is full (`allow-oom`), since every append needs a good mark.
 */
export const MARK_SCRIPT = `#!lua flags=allow-oom
${UNLESS_CHANGED}
${NOW}
${MAKE_MARK('ARGV[4]')}
redis.call('HSET', KEYS[1], 'node', here, 'loss', ARGV[3], 'left', string.format('%d', now + ${AHEAD_MS}))
redis.call('HDEL', KEYS[1], 'expired')
return 1
`;

/**
 * Makes the mark of a partition name the primary that runs the script. Callers use this script if nothing was lost: the
 * partition is new, or a planned move has brought it here.
 *
 * KEYS     mark
 * ARGV     1  and 2: see {@link UNLESS_CHANGED}
 *          3  the era's number (recovery/era.ts) for a new partition, or ''
 * Returns  1; 0 when the mark or the primary has changed: then the script changes nothing
 */
export const TAKE_OVER_SCRIPT = `#!lua flags=allow-oom
${UNLESS_CHANGED}
redis.call('HSET', KEYS[1], 'node', here)
if ARGV[1] == '' then
${NOW}
${MAKE_MARK('ARGV[3]')}
redis.call('HSET', KEYS[1], 'loss', '', 'left', '0')
end
return 1
`;

/**
 * Maximum number of windows in the list of `left`. If there are more, the script raises the bound of `left` past the
 * earliest windows and removes these from the list.
 */
const MAX_LEFT = 64;

/**
 * Lua: `noteLeft(mark, start)` notes in a mark that the window with this start may leave memory. The field
 * `left` is a bound and a list of window starts. Windows that begin before the bound may have left. Later windows
 * may have left only if they are listed.
 */
export const NOTE_LEFT = `
local function noteLeft(mark, start)
  local left = redis.call('HGET', mark, 'left')
  if not left then return end
  local starts = {}
  for each in string.gmatch(left, '%S+') do starts[#starts + 1] = tonumber(each) end
  local bound = table.remove(starts, 1)
  if start < bound then return end
  for _, each in ipairs(starts) do
    if each == start then return end
  end
  starts[#starts + 1] = start
  table.sort(starts)
  if #starts > ${MAX_LEFT} then bound = table.remove(starts, 1) + 1 end
  local texts = { string.format('%d', bound) }
  for _, each in ipairs(starts) do texts[#texts + 1] = string.format('%d', each) end
  redis.call('HSET', mark, 'left', table.concat(texts, ' '))
end
`;

/**
 * Reads the mark of a partition.
 *
 * KEYS     mark; arrived
 * Returns  the mark's `loss` and `arrived`, and the lowest arrival time of the partition's frames;
 *          the mark's `node`, `era` and `expired`;
 *          the replication ids of this primary, and of the primary from which it took over.
 *          An absent value is false. A partition without a mark has no `loss`
 */
export const READ_MARK_SCRIPT = `#!lua flags=no-writes
local mark = redis.call('HMGET', KEYS[1], 'loss', 'arrived', 'node', 'era', 'expired')
local lowest = redis.call('ZRANGE', KEYS[2], '0', '0', 'WITHSCORES')
local info = redis.call('INFO', 'replication')
local here, previous = string.match(info, 'master_replid:(%x+)'), string.match(info, 'master_replid2:(%x+)')
return { mark[1], mark[2], lowest[2] or false, mark[3], mark[4], mark[5], here, previous }
`;
