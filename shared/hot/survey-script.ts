import { DUE_TIME } from './due-score';
import { THIS_NODE } from './mark-script';

/** Maximum number of group-windows that a survey reads in each partition. It reads the oldest ones. */
const MAX_WINDOWS = 16;

/**
 * Surveys many partitions of one node at once. For each partition, reports whether the mark names this primary, when
 * the oldest group-window was first written, and the lowest arrival time of the frames.
 *
 * KEYS     the mark of one of the partitions, which routes the call to the node that has them
 * ARGV     1  maximum delay of a window, ms (due-score.ts)
 *          2  the era that the flusher writes to marks (recovery/era.ts), or '' to leave them as they are
 *          then the hash tag of each partition
 * Returns  one text with an entry for each partition, separated by commas. It is `?` when the mark does not
 *          name this primary, or is on another node; else `oldest due arrival`:
 *          the first write of the oldest group-window; a lower bound of first write plus delay of all windows;
 *          the lowest arrival time; all in ms, each empty when the partition has no frames
 *
 * The script does not declare the keys of the other partitions, since they are in other hash slots. Reading a key in a
 * slot that another node serves fails. A key in a slot that is being moved away may seem absent. The script runs even
 * when memory is full (`allow-oom`), as a lease does.
 */
export const SURVEY_SCRIPT = `#!lua flags=allow-oom,allow-cross-slot-keys
local node = ${THIS_NODE}
${DUE_TIME}
local spread = tonumber(ARGV[1])
local found = {}
for i = 3, #ARGV do
  local tag = ARGV[i]
  local mark = tag .. ':mark'
  local seen = redis.pcall('HMGET', mark, 'node', 'era', 'expired')
  if seen.err or seen[1] ~= node or seen[3] then
    found[i - 2] = '?'
  else
    if ARGV[2] ~= '' and seen[2] ~= ARGV[2] then redis.call('HSET', mark, 'era', ARGV[2]) end
    local first = redis.call('ZRANGE', tag .. ':due', '0', '${MAX_WINDOWS - 1}', 'WITHSCORES')
    -- If the partition has more windows than these, they were first written no earlier than the last of
    -- these.
    local due = #first == ${2 * MAX_WINDOWS} and math.floor(first[#first]) or math.huge
    for j = 1, #first, 2 do due = math.min(due, dueTime(tonumber(first[j + 1]), spread)) end
    local lowest = redis.call('ZRANGE', tag .. ':arrived', '0', '0', 'WITHSCORES')
    found[i - 2] = (first[2] and string.format('%d', math.floor(first[2])) or '') .. ' ' .. (first[2] and string.format('%d', due) or '') .. ' ' .. (lowest[2] or '')
  end
end
return table.concat(found, ',')
`;
