import { createHash } from 'node:crypto';
import type { GroupId } from '../model/placement';

/**
 * Windows of an hour are first written in the same minute, and would all be due in the same minute too. So each waits a further
 * delay that follows from its group: as good as random from group to group, and the same for all windows of one, which then leave
 * memory as regularly as they came.
 *
 * @param spreadMs the longest delay
 * @returns ms, 0 to `spreadMs`
 */
export function groupDelayMs(group: GroupId, spreadMs: number): number {
  const hash = createHash('sha1').update(group).digest().readUInt32BE(0);
  return Math.floor((hash / 2 ** 32) * spreadMs);
}

/** Lua: {@link groupDelayMs} of a member of the due index, which begins with the group's 27 characters. */
export const GROUP_DELAY = `
local function groupDelay(member, spread)
  if spread == 0 then return 0 end
  local hash = tonumber(string.sub(redis.sha1hex(string.sub(member, 1, 27)), 1, 8), 16)
  return math.floor(hash / 4294967296 * spread)
end
`;
