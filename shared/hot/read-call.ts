/** Builds the arguments for a call of the read script (read-script.ts), and decodes the script's reply. */
import type { Mark } from './partition-marks';
import type { GroupsReply } from './scripts';

/** The windows of a partition that may have left memory, wholly or in part, because they were flushed. */
export interface LeftWindows {
  /** Every window that begins before this time, in ms, may have left memory. */
  readonly beforeMs: number;
  /** Starts, in ms, of further windows that may have left memory. */
  readonly starts: readonly number[];
}

/** Used if the mark does not say which windows have left memory: any window may have left. */
const ANY_LEFT: LeftWindows = { beforeMs: Infinity, starts: [] };

/** The columns that a reader wants from frames of one layout. */
export interface ColumnPick {
  /** The layout's id, 16 bytes. */
  readonly layout: Uint8Array;
  /** Indexes of the wanted columns, ascending. */
  readonly columns: Uint32Array;
}

/**
 * Maximum cost of one call: the sum of the costs of its frames. A frame costs 1, and 1 more for every
 * {@link COLUMNS_A_COST} columns that are wanted from it. A call of this cost occupies its node for 12 to 24 ms.
 */
const MAX_CALL_COST = 24_000;
/** Maximum cost of one frame. A frame that is returned whole has this cost. */
const MAX_FRAME_COST = 10;
/** Number of wanted columns that together add 1 to the cost of a frame. */
const COLUMNS_A_COST = 8;

/** A list of frames that a call requests: the frames of one group-window. */
export interface RequestedList {
  /** Start of the window, in ms. */
  readonly start: number;
  readonly name: string;
  /** How many frames at the start of the list the reader already has, and the mark's id when it read them. */
  readonly known: { readonly count: number; readonly markId: string } | undefined;
}

export interface RequestedGroup<List extends RequestedList = RequestedList> {
  /** Key of the set of the group's windows. */
  readonly name: string;
  readonly picks: readonly ColumnPick[];
  readonly lists: readonly List[];
}

/** The part of a reply that concerns one list of frames. */
export interface FoundList {
  /** Number of frames that the list has in memory. */
  readonly count: number;
  /** How many frames at the start of the list `picked` leaves out, because the reader has cached them. */
  readonly leftOut: number;
  /** Size in memory of the frames after the first `leftOut`, in bytes. */
  readonly bytes: number;
  /** The frames after the first `leftOut`; undefined if there are none, or if they exceed {@link MAX_CALL_COST}. */
  readonly picked: Buffer | undefined;
}

export interface ReadReply {
  readonly mark: Mark;
  readonly left: LeftWindows;
  /**
   * Id of the mark. It changes whenever an instance marks the partition. Undefined if the mark does not say which
   * windows have left.
   */
  readonly markId: string | undefined;
  /** The first groups of the call: as many as fit into one reply. */
  readonly groups: readonly { readonly starts: readonly number[]; readonly lists: readonly FoundList[] }[];
}

/** Returns the keys and the other arguments of a call for groups of one partition. */
export function argumentsOf(
  mark: string,
  markId: string,
  groups: readonly RequestedGroup[],
): [names: string[], args: (string | number)[]] {
  const names = [mark];
  // Make one text argument for each group. The client is slow with many small arguments, and five times slower with
  // buffers.
  const args: (string | number)[] = [MAX_CALL_COST, markId];
  for (const { name, picks, lists } of groups) {
    names.push(name);
    let text = `${frameCost(picks)} ${picks.length}`;
    for (const { layout, columns } of picks)
      text += ` ${Buffer.from(layout.buffer, layout.byteOffset, layout.length).toString('hex')} ${columns.join()}`;
    text += ` ${lists.length}`;
    for (const list of lists) {
      names.push(list.name);
      text += ` ${list.start} ${list.known?.markId === markId ? list.known.count : 0}`;
    }
    args.push(text);
  }
  return [names, args];
}

/** Decodes the reply to a call for `groups`. */
export function replyOf(
  [isGood, loss, left, markId, ...rest]: GroupsReply,
  groups: readonly RequestedGroup[],
): ReadReply {
  const found: ReadReply['groups'][number][] = [];
  for (let at = 0; at < rest.length; ) {
    const starts = (rest[at++] as Buffer[]).map(Number);
    const lists = groups[found.length]!.lists.map((): FoundList => {
      const [count, known, bytes] = [rest[at], rest[at + 1], rest[at + 2]] as [number, number, number];
      const picked = rest[at + 3];
      at += 4;
      if (Buffer.isBuffer(picked)) return { count, leftOut: known, bytes, picked };
      // The script returns -1 in place of frames that do not fit into the reply.
      return { count, leftOut: picked === null ? known : 0, bytes: 0, picked: undefined };
    });
    found.push({ starts, lists });
  }
  return {
    mark:
      loss === null ? { state: 'absent' } : { state: isGood === 1 ? 'good' : 'bad', loss: loss.toString() },
    left: left ? parseLeftWindows(left.toString()) : ANY_LEFT,
    markId: markId?.toString(),
    groups: found,
  };
}

/** Parses the mark's field `left`: numbers separated by spaces (mark-script.ts). */
function parseLeftWindows(text: string): LeftWindows {
  const [beforeMs, ...starts] = text.split(' ').map(Number);
  return { beforeMs: beforeMs!, starts };
}

/** Estimates the cost of each frame of a group: see {@link MAX_CALL_COST}. */
function frameCost(picks: readonly ColumnPick[]): number {
  if (picks.length === 0) return MAX_FRAME_COST;
  let most = 0;
  for (const { columns } of picks) most = Math.max(most, columns.length);
  return Math.min(MAX_FRAME_COST, 1 + Math.floor(most / COLUMNS_A_COST));
}
