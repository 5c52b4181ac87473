import type { Id } from '../model/id';

/** Decides when a reader's call to memory may start. */
export interface ReadPace {
  /** Waits for the turn of one of the tenant's calls. @returns how long it waited, ms */
  turn(tenantId: Id): Promise<number>;
}

export const AT_ONCE: ReadPace = { turn: async () => 0 };
