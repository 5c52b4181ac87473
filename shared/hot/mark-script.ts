/** Lua: the replication id of the primary that runs the script. A promoted replica gets an id of its own. */
const THIS_NODE = `string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')`;

/** Lua: true when the partition's mark is this primary's, which then has everything that was acknowledged. */
export const MARK_OF_THIS_NODE = `redis.call('HGET', KEYS[1], 'node') == ${THIS_NODE}`;

/**
 * Marks a partition as this primary's, so that appends go on.
 *
 * KEYS     mark
 * ARGV     1  id of the loss that was noticed, or '' when there was none
 * Returns  1
 *
 * Runs when memory is full (`allow-oom`), since nothing is appended without a mark.
 */
export const MARK_SCRIPT = `#!lua flags=allow-oom
redis.call('HSET', KEYS[1], 'node', ${THIS_NODE}, 'loss', ARGV[1])
return 1
`;

/**
 * Reads a partition's mark.
 *
 * KEYS     mark; arrived
 * Returns  1 when the mark is this primary's, else 0; then `loss`, `arrived` and the lowest arrival time of what the
 *          partition holds, each false when absent. A partition without a mark has no `loss`
 */
export const INSPECT_SCRIPT = `#!lua flags=no-writes
local mark = redis.call('HMGET', KEYS[1], 'loss', 'arrived')
local lowest = redis.call('ZRANGE', KEYS[2], '0', '0', 'WITHSCORES')
return { ${MARK_OF_THIS_NODE} and 1 or 0, mark[1], mark[2], lowest[2] or false }
`;

/**
 * Reads a group's windows and the frames of some, together with the mark that tells whether they are complete. One script
 * does both, so that nothing is lost or moved between the two reads.
 *
 * KEYS     mark; the group's windows; lists of frames
 * ARGV     1  most frames to return
 * Returns  1 when the mark is this primary's, else 0; `loss`, or false; the window starts; then for each list its frames,
 *          or false when they would exceed the bound
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
