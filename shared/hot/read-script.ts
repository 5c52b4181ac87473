import { LEFT_BELIEVED_MS, MARK_OF_THIS_NODE, NOW } from './mark-script';

/**
 * Reads windows of groups of one partition, of their frames the columns asked for, together with the mark that tells
 * whether they are complete and what has left. One script does it all, so that nothing is lost or moved in between.
 *
 * KEYS     mark; then for each group: its windows, and its lists of frames
 * ARGV     1  room: the most cost of a call's frames
 *          2  id of the mark under which the reader read what it knows, or ''
 *          then for each group: the half-open range of wanted timestamps, ms; its number of lists; what one of its frames
 *          costs, and what one in the range costs beside; its number of picks; for each pick the layout's 16 bytes, and the columns wanted of it, numbers from 0
 *          between spaces, ascending; and for each list its window's start, ms, and how many of its frames are known
 * Returns  1 when the mark is this primary's, else 0; `loss`, or false; `left` (see NOTE_LEFT), or false when what has left
 *          is unknown; the mark's id, which changes when it is written anew, or false when what has left is unknown; then for each group its
 *          window starts, and for each of its lists the number of its frames, how many of them are left out since they are
 *          known, the bytes of the others, and what follows of these; false twice where there are none
 *
 * Known frames are left out while the mark's id is the reader's and nothing of the window has left: it begins with them.
 *
 *     u8 number of the pick    timestamp, version and the wanted values of a frame, unpacked
 *     u8 128 + number          such a frame with a timestamp outside the range
 *     u8 255   u32 length      a whole frame: of another layout, with a presence map, of an unknown version, or cut off
 *
 * Of whole frames, those with a timestamp outside the range are left out. Groups that exceed the room are left out: the reply
 * ends before them. If the first does, its lists are false and -1, from the one on that exceeds it.
 */
export const READ_SCRIPT = `#!lua flags=no-writes
${NOW}
local mark = redis.call('HMGET', KEYS[1], 'loss', 'left', 'leftSeen', 'node', 'made')
local isOurs = ${MARK_OF_THIS_NODE}
local isKnown = isOurs and mark[2] and now - (tonumber(mark[3]) or 0) <= ${LEFT_BELIEVED_MS}
local markId = isKnown and mark[4] .. ' ' .. (mark[1] or '') .. ' ' .. (mark[5] or '')
local found = { isOurs and 1 or 0, mark[1], isKnown and mark[2], markId }

local bound, hasLeft = nil, {}
if markId and markId == ARGV[2] then
  for start in string.gmatch(mark[2], '%S+') do
    if bound then hasLeft[tonumber(start)] = true else bound = tonumber(start) end
  end
end
-- How many frames of a list the reader need not get.
local function knownOf(key, start, count)
  if count == 0 or not bound or start < bound or hasLeft[start] then return 0 end
  return redis.call('LLEN', key) >= count and count or 0
end

local sub, byte, char = string.sub, string.byte, string.char
-- Lengths of two packed values, by their control byte.
local sums = {}
for control = 0, 255 do sums[control] = control % 16 + (control - control % 16) / 16 end
local zeros = {}
for length = 0, 8 do zeros[length] = string.rep('\\0', 8 - length) end
local lists = {}
local function columnsOf(text)
  local columns = lists[text]
  if not columns then
    columns = {}
    for column in string.gmatch(text, '%d+') do columns[#columns + 1] = tonumber(column) end
    lists[text] = columns
  end
  return columns
end

local function plain(frame, at, columns, out)
  for i = 1, #columns do
    local from = at + 8 * columns[i]
    out[#out + 1] = sub(frame, from, from + 7)
  end
end
local function packed(frame, at, columns, out)
  local column, control = 0, 0
  for i = 1, #columns do
    local wanted = columns[i]
    while column % 2 == 0 and column + 1 < wanted do
      at, column = at + 1 + sums[byte(frame, at) or 0], column + 2
    end
    repeat
      if column % 2 == 0 then
        control = byte(frame, at) or 0
        at = at + 1
      else
        control = (control - control % 16) / 16
      end
      local length = control % 16
      if length > 8 then return math.huge end
      if column == wanted then out[#out + 1] = zeros[length] .. sub(frame, at, at + length - 1) end
      at, column = at + length, column + 1
    until column > wanted
  end
  return at
end

local unpack = struct.unpack
local room, key, arg = tonumber(ARGV[1]), 2, 3
while key <= #KEYS do
  local fromMs, toMs = tonumber(ARGV[arg]), tonumber(ARGV[arg + 1])
  local count, picks = tonumber(ARGV[arg + 2]), tonumber(ARGV[arg + 5])
  local cost, costInRange = tonumber(ARGV[arg + 3]), tonumber(ARGV[arg + 4])
  local windowArg, known, totals = arg + 4 + 2 * picks, {}, {}
  for i = 1, count do
    known[i] = knownOf(KEYS[key + i], tonumber(ARGV[windowArg + 2 * i]), tonumber(ARGV[windowArg + 1 + 2 * i]))
    totals[i] = redis.call('LLEN', KEYS[key + i])
    room = room - cost * (totals[i] - known[i])
  end
  if room < 0 and key > 2 then break end
  local groupAt = #found
  found[groupAt + 1] = redis.call('SMEMBERS', KEYS[key])
  local numbers, outside, wanted = {}, {}, {}
  for i = 1, picks do
    local layout = ARGV[arg + 4 + 2 * i]
    numbers[layout], outside[layout] = char(i - 1), char(127 + i)
    wanted[layout] = columnsOf(ARGV[arg + 5 + 2 * i])
  end
  for i = 1, count do
    local bytes, out, frames = 0, {}, {}
    if room >= 0 and totals[i] > known[i] then frames = redis.call('LRANGE', KEYS[key + i], known[i], -1) end
    for f = 1, #frames do
      local frame = frames[f]
      bytes = bytes + #frame
      local kind, layout = byte(frame, 1), sub(frame, 2, 17)
      local columns = wanted[layout]
      local before = #out
      -- 16 and 17: values of all series, plain and packed; 18 and 19: with a presence map.
      local isFrame = #frame > 31 and kind >= 16 and kind <= 19
      local hasAllSeries = isFrame and kind <= 17
      local ms = isFrame and unpack('<i8', frame, 18) or 0
      local isOutside = isFrame and (ms < fromMs or ms >= toMs)
      if not isOutside then
        room = room - costInRange
        if room < 0 then break end
      end
      if isOutside then
        if columns and hasAllSeries then out[before + 1] = outside[layout] end
      elseif columns and hasAllSeries then
        local versionEnd = 32 + (byte(frame, 32) or 0)
        out[before + 1] = numbers[layout]
        out[before + 2] = sub(frame, 18, versionEnd)
        local isCut
        if kind == 16 then
          plain(frame, versionEnd + 1, columns, out)
          isCut = #columns > 0 and versionEnd + 8 + 8 * columns[#columns] > #frame
        else
          isCut = packed(frame, versionEnd + 1, columns, out) > #frame + 1
        end
        if isCut then
          columns = nil
          for last = #out, before + 1, -1 do out[last] = nil end
        end
      else
        columns = nil
      end
      if not columns and not isOutside then
        out[before + 1] = '\\255' .. struct.pack('<I4', #frame)
        out[before + 2] = frame
      end
    end
    local isRead = #frames > 0 and room >= 0
    found[#found + 1] = totals[i]
    found[#found + 1] = known[i]
    found[#found + 1] = isRead and bytes
    found[#found + 1] = isRead and table.concat(out) or (room < 0 and -1)
  end
  if room < 0 and key > 2 then
    for last = #found, groupAt + 1, -1 do found[last] = nil end
  end
  key, arg = key + 1 + count, arg + 6 + 2 * picks + 2 * count
  if room < 0 then break end
end
return found
`;
