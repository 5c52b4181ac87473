/** Lua: the replication id of the primary that runs the script; a promoted replica has one of its own. */
const THIS_NODE = `string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')`;

/** Lua: what stands between a script and data of which a part may have been lost. */
export const MARK_OF_THIS_NODE = `redis.call('HGET', KEYS[1], 'node') == ${THIS_NODE}`;

/**
 * Marks a partition as known whole to this primary, or as lost and noticed.
 *
 * KEYS  mark
 * ARGV  id of the loss that was noticed, or '' when there was none
 *
 * Allowed when memory is full: nothing can be appended without it.
 */
export const MARK_SCRIPT = `#!lua flags=allow-oom
redis.call('HSET', KEYS[1], 'node', ${THIS_NODE}, 'loss', ARGV[1])
return 1
`;

/**
 * Looks at a partition's mark.
 *
 * KEYS  mark; group-windows by lowest arrival
 *
 * Returns 1 when the mark is this primary's, else 0; then `loss`, `arrived` and the lowest arrival of what the
 * partition holds, each false when it is not there. A partition without a mark has no `loss`.
 */
export const INSPECT_SCRIPT = `#!lua flags=no-writes
local mark = redis.call('HMGET', KEYS[1], 'loss', 'arrived')
local lowest = redis.call('ZRANGE', KEYS[2], '0', '0', 'WITHSCORES')
return { ${MARK_OF_THIS_NODE} and 1 or 0, mark[1], mark[2], lowest[2] or false }
`;

/**
 * The windows of a group and the frames of some, with what tells whether they are all there: at one moment, so that nothing
 * can be lost, or moved on, between the one and the other.
 *
 * KEYS  mark; the group's set of windows; lists of frames
 * ARGV  most frames to give in all
 *
 * Returns 1 when the mark is this primary's, else 0; `loss`, or false; the window starts; then for each list its frames, or
 * false when they would be too many.
 */
export const WINDOWS_SCRIPT = `#!lua flags=no-writes
local found = { ${MARK_OF_THIS_NODE} and 1 or 0, redis.call('HGET', KEYS[1], 'loss'), redis.call('SMEMBERS', KEYS[2]) }
local room = tonumber(ARGV[1])
for i = 3, #KEYS do
  room = room - redis.call('LLEN', KEYS[i])
  found[i + 1] = room >= 0 and redis.call('LRANGE', KEYS[i], 0, -1)
end
return found
`;
