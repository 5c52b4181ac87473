import type { Id } from '../model/id';

/** Decides when a reader's call to memory may start. */
export interface ReadPace {
  /**
   * Waits until a call for the tenant may start.
   *
   * @returns how long it waited, ms
   */
  wait(tenantId: Id): Promise<number>;
}

/** Lets every call start at once. */
export const AT_ONCE: ReadPace = { wait: async () => 0 };
