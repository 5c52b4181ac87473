import type { GroupId } from '../model/placement';

/**
 * One chunk in DynamoDB. It holds the samples of a group-window, or of a part of its time range if the whole window
 * does not fit into one item. A layer is a set of items of one window whose chunks have the same layout. A window has
 * several layers if one layout cannot hold all of its series.
 */
export interface WarmItem {
  readonly group: GroupId;
  readonly windowStart: number;
  /** 0 for the first layer, which is nearly always the only one. */
  readonly layer: number;
  /**
   * Start of the item's time range, in ms. The first item of a window starts with the window. After a purge of that item,
   * the earliest item left starts later.
   */
  readonly startMs: number;
  /**
   * Hash of the chunk. Conditional writes compare it. Archive objects list the revisions of the items that they hold.
   */
  readonly revision: string;
  readonly chunk: Uint8Array;
  /** Whether reads by key might miss an item of the window when this one was written: flush/plan.ts, `willBeDivided`. */
  readonly isDivided?: boolean;
}
