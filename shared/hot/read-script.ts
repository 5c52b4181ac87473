import { HAS_GOOD_MARK } from './mark-script';

/**
 * Reads groups of one partition: their window starts, and the wanted columns of the frames of some windows. It also
 * reads the partition's mark, which shows whether the windows are complete and which of them may have left memory. One
 * script reads everything, so nothing can be lost or moved in between.
 *
 * KEYS     mark
 *          for each group: its windows, then its lists of frames, one for each wanted window
 * ARGV     1  room: the maximum cost of all frames of the call together
 *          2  markId under which the reader cached the frames that it knows, or ''
 *          for each group a string with these words, separated by spaces:
 *            cost of a frame
 *            number of its picks
 *            for each pick: the layout's id in hexadecimal; the wanted columns, ascending numbers from 0 separated by commas
 *            number of its lists
 *            for each list: its window's start, ms; number of its frames that the reader has cached
 * Returns  1 if the mark is good (see HAS_GOOD_MARK), else 0
 *          loss, or false
 *          left (see NOTE_LEFT), or false if the mark is not good
 *          markId, which changes whenever the partition is marked, or false if the mark is not good
 *          for each group:
 *            its window starts
 *            for each list: its number of frames; how many of them the reader has cached; the size of the others, in
 *            bytes; the others, as below
 *            for a list whose frames are all cached: false instead of the last two
 *
 * The script leaves out the frames that the reader has cached, if the markId is still the one that the reader
 * sent and nothing of the window has left: the list then still begins with these frames. Each other frame is
 * one of:
 *
 *     u8 number of the pick    timestamp, version and the wanted values of a frame, unpacked
 *     u8 255   u32 length      a whole frame: its layout has no pick, it has a presence map or an unknown version, or it is cut off
 *
 * The reply ends before the first group that exceeds the room. If that is the first group of the call, its
 * lists have false and -1 instead of frames.
 */
export const READ_SCRIPT = `#!lua flags=no-writes
local mark = redis.call('HMGET', KEYS[1], 'loss', 'left', 'node', 'made')
local isOurs = ${HAS_GOOD_MARK}
local isKnown = isOurs and mark[2]
local markId = isKnown and mark[3] .. ' ' .. (mark[1] or '') .. ' ' .. (mark[4] or '')
local found = { isOurs and 1 or 0, mark[1], isKnown and mark[2], markId }

local bound, hasLeft = nil, {}
if markId and markId == ARGV[2] then
  for start in string.gmatch(mark[2], '%S+') do
    if bound then hasLeft[tonumber(start)] = true else bound = tonumber(start) end
  end
end
-- Returns how many frames at the start of a list to leave out: count if the reader has cached these frames
-- and the list still begins with them, else 0.
local function knownOf(start, count, total)
  return bound and start >= bound and not hasLeft[start] and total >= count and count or 0
end

local sub, byte, char = string.sub, string.byte, string.char
-- For each control byte, the length of the two packed values after it together, in bytes.
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

local HEX = string.rep('%02x', 16)
local texts = {}
local function hexOf(id)
  local text = texts[id]
  if not text then
    text = string.format(HEX, byte(id, 1, 16))
    texts[id] = text
  end
  return text
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

local room, key = tonumber(ARGV[1]), 2
for arg = 3, #ARGV do
  local word = string.gmatch(ARGV[arg], '%S+')
  local function number() return tonumber(word()) end
  local cost = number()
  local numbers, wanted = {}, {}
  for i = 1, number() do
    local layout = word()
    numbers[layout] = char(i - 1)
    wanted[layout] = columnsOf(word())
  end
  local count, known, totals = number(), {}, {}
  for i = 1, count do
    totals[i] = redis.call('LLEN', KEYS[key + i])
    known[i] = knownOf(number(), number(), totals[i])
    room = room - cost * (totals[i] - known[i])
  end
  if room < 0 and key > 2 then break end
  found[#found + 1] = redis.call('SMEMBERS', KEYS[key])
  for i = 1, count do
    local bytes, out, frames = 0, {}, {}
    if room >= 0 and totals[i] > known[i] then frames = redis.call('LRANGE', KEYS[key + i], known[i], -1) end
    for f = 1, #frames do
      local frame = frames[f]
      bytes = bytes + #frame
      local kind = byte(frame, 1)
      -- Kinds of frames: 16 and 17 have values of all series, plain and packed.
      local layout = #frame > 31 and (kind == 16 or kind == 17) and hexOf(sub(frame, 2, 17))
      local columns = wanted[layout]
      if columns then
        local before, versionEnd = #out, 32 + (byte(frame, 32) or 0)
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
      end
      if not columns then
        out[#out + 1] = '\\255' .. struct.pack('<I4', #frame)
        out[#out + 1] = frame
      end
    end
    local isRead = #frames > 0
    found[#found + 1] = totals[i]
    found[#found + 1] = known[i]
    found[#found + 1] = isRead and bytes
    found[#found + 1] = isRead and table.concat(out) or (room < 0 and -1)
  end
  key = key + 1 + count
  if room < 0 then break end
end
return found
`;
