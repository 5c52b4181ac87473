import type { ChildProcess } from 'node:child_process';

/** A function's call to a store, as the proxy between the two sees it. */
export interface Call {
  /** A kind, such as `flusher`. */
  readonly functionName: string;
  readonly store: 'redis' | 'dynamodb' | 'kinesis' | 's3' | 'lambda';
  /** The store's operation and its object: `trim`, `PutItem warm`, `UpdateItem manifest ADD changes`. */
  readonly operation: string;
  /** It may change stored data. */
  readonly isChange: boolean;
}

/** Before the store receives a call; or after the store has answered, before the function receives the answer. */
export type Phase = 'before' | 'after';

/** A fault: replaces a call's way to the server. */
export type Fault =
  /** Cuts the connection; the store never receives the call. */
  | { readonly kind: 'refuse' }
  /** Passes the call on, and cuts the connection instead of answering. */
  | { readonly kind: 'lose-reply' }
  | { readonly kind: 'delay'; readonly ms: number }
  /** Answers with the service's error; the store never receives the call. */
  | { readonly kind: 'error'; readonly error: ErrorKind }
  /** PutRecords: refuses this share of the records and passes the others on. */
  | { readonly kind: 'fail-records'; readonly share: number; readonly random: () => number }
  /** Query: gives at most so many items a page. */
  | { readonly kind: 'short-page'; readonly items: number }
  /**
   * Runs `act` on the process that made the call, while it waits. If `act` gives true, the call, or its answer, then passes.
   */
  | {
      readonly kind: 'interrupt';
      readonly phase: Phase;
      readonly act: (process: ChildProcess) => Promise<boolean>;
    };

/** Only S3 has `conflict` (409) and `precondition` (412). */
export type ErrorKind = 'throttled' | 'internal' | 'unavailable' | 'conflict' | 'precondition';

/** Decides a call's fault; undefined: the call passes. */
export type Decide = (call: Call) => Fault | undefined;
