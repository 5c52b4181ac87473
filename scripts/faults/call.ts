import type { ChildProcess } from 'node:child_process';

/** A call of a function to a store, as a proxy between the two sees it. */
export interface Call {
  /** Such as `flusher`. */
  readonly functionName: string;
  readonly store: 'redis' | 'dynamodb' | 'kinesis' | 's3' | 'lambda';
  /** In the store's own words, and what it is about: `trim`, `PutItem warm`, `UpdateItem manifest ADD changes`. */
  readonly operation: string;
  /** Whether it may change what is stored. */
  readonly isChange: boolean;
}

/** Before the store has heard of a call, or after it has answered and before the function hears of that. */
export type Phase = 'before' | 'after';

/** What happens to a call instead of passing through. */
export type Fault =
  /** The connection is cut and the store never hears of the call. */
  | { readonly kind: 'refuse' }
  /** The call is made, the connection cut in place of the answer. */
  | { readonly kind: 'lose-reply' }
  | { readonly kind: 'delay'; readonly ms: number }
  /** Answered with an error, as the service would; the store never hears of the call. */
  | { readonly kind: 'error'; readonly error: ErrorKind }
  /** Of Kinesis' PutRecords: this share of the records is refused, the others go in. */
  | { readonly kind: 'fail-records'; readonly share: number; readonly random: () => number }
  /** Of DynamoDB's Query: no more than so many items a page. */
  | { readonly kind: 'short-page'; readonly items: number }
  /**
   * Something is done to the process that made the call, while it waits.
   *
   * `act` gives whether the call, or its answer, then passes through.
   */
  | {
      readonly kind: 'interrupt';
      readonly phase: Phase;
      readonly act: (process: ChildProcess) => Promise<boolean>;
    };

/** `conflict` and `precondition` are S3's alone: 409 and 412. */
export type ErrorKind = 'throttled' | 'internal' | 'unavailable' | 'conflict' | 'precondition';

/** Decides what happens to a call; undefined: it passes through. */
export type Decide = (call: Call) => Fault | undefined;
