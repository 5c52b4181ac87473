import { NOW, seeLeft, THIS_NODE } from './mark-script';

/**
 * Looks at many partitions of one node at once: whether each mark is this primary's, when its oldest group-window was first
 * written, and the lowest arrival time of what it holds.
 *
 * KEYS     the mark of one of the partitions, by which the call finds its node
 * ARGV     1  1 for a flusher, which notes in each mark that it looked (mark-script.ts), else 0
 *          then the hash tag of each partition
 * Returns  for each partition, with commas in between: `?` when its mark is not this primary's or lies elsewhere, else
 *          `oldest arrival`, ms, of which each is empty when the partition holds nothing
 *
 * The keys of other partitions are not declared, since they are of other slots; a key of a slot that another node serves is an
 * error, and of a slot that is on its way elsewhere may seem absent. Runs when memory is full (`allow-oom`), as a lease does.
 */
export const SURVEY_SCRIPT = `#!lua flags=allow-oom,allow-cross-slot-keys
${NOW}
local node = ${THIS_NODE}
local found = {}
for i = 2, #ARGV do
  local tag = ARGV[i]
  local mark = tag .. ':mark'
  local seen = redis.pcall('HMGET', mark, 'node', 'left', 'leftSeen')
  if seen.err or seen[1] ~= node then
    found[i - 1] = '?'
  else
    if ARGV[1] == '1' then ${seeLeft('mark', 'seen')} end
    local oldest = redis.call('ZRANGE', tag .. ':due', '0', '0', 'WITHSCORES')
    local lowest = redis.call('ZRANGE', tag .. ':arrived', '0', '0', 'WITHSCORES')
    found[i - 1] = (oldest[2] or '') .. ' ' .. (lowest[2] or '')
  end
end
return table.concat(found, ',')
`;
