/** What a query asked of the stores. */
export interface Asked {
  readonly requests: number;
  readonly bytes: number;
  /** While an answer of the stand-in for AWS was waited for. */
  readonly emulatorMs: number;
}

/** The header of an answer in which an instance says it. */
export const ASKED_HEADER = 'x-bench-asked';
