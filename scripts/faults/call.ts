import type { ChildProcess } from 'node:child_process';
import type { WholeRequest, WholeResponse } from '../local/forward';

/** A function's call to a store, as seen by the proxy. */
export interface Call {
  /** Kind of the function, such as `flusher`. */
  readonly functionName: string;
  readonly store: 'redis' | 'dynamodb' | 'kinesis' | 's3' | 'lambda';
  /** The store's operation and what it acts on: `trim`, `PutItem warm`, `UpdateItem manifest ADD changes`. */
  readonly operation: string;
  /** Whether the call may change stored data. */
  readonly isChange: boolean;
}

/**
 * The moment at which a fault acts: before the store receives the call, or after the store has answered but before the
 * function receives the response.
 */
export type Phase = 'before' | 'after';

/** A fault that replaces the normal handling of a call. */
export type Fault =
  /** Forwards the call, and cuts the connection instead of answering. */
  | { readonly kind: 'lose-reply' }
  | { readonly kind: 'delay'; readonly ms: number }
  /** Answers a call to AWS in place of the service. The fault may first send the service another request. */
  | {
      readonly kind: 'respond';
      readonly respond: (
        request: WholeRequest,
        forward: (request: WholeRequest) => Promise<WholeResponse>,
      ) => Promise<WholeResponse>;
    }
  /**
   * While the process that made the call waits for the response, runs `act` on the process. If `act` returns true, the
   * call (or its response, by `phase`) is then forwarded; otherwise the connection is cut.
   */
  | {
      readonly kind: 'interrupt';
      readonly phase: Phase;
      readonly act: (process: ChildProcess) => Promise<boolean>;
    };

/** Decides which fault a call meets; undefined for none. */
export type Decide = (call: Call) => Fault | undefined;
