import { FREEDOMS, type FreedomName, Freedoms } from '../faults/freedoms';
import type { TableFreedoms } from './dynamodb';
import type { StreamFreedoms } from './kinesis';
import type { BucketFreedoms } from './s3';

/** A fault of a call to AWS. */
export type CallFault = 'throttled' | 'failed inside' | 'response lost' | 'connection lost' | undefined;

/** Freedoms that are used less often here, because they are slow to simulate: a new instance takes tens of ms. */
const SHARES: Partial<Record<FreedomName, number>> = { 'instance reclaimed': 0.001 };
/** Share of invocations that are killed, and the maximum time from the start of an invocation to the kill, in ms. */
const [KILLED_SHARE, KILL_WITHIN_MS] = [0.002, 60];
/**
 * Share of the invocations that pause in the middle, as a virtual machine may, and the maximum length of the pause in
 * ms.
 */
const [STALLED_SHARE, STALLED_MOST_MS] = [0.004, 840_000];
const STALLED = new Set(['ingester', 'flusher', 'archiver', 'recovery']);
/** Share of the invocations after which the instance is frozen, as Lambda usually does. */
const FROZEN_SHARE = 0.5;
/** Share of commands to memory during which the connection is closed. */
const CACHE_CUT_SHARE = 0.0005;
const KILLED = new Set(['ingester', 'flusher', 'archiver', 'recovery', 'operator', 'importer']);

/** A pause in the middle of an invocation, as a virtual machine may have. */
export interface Stall {
  /** Time from the start of the invocation, in ms. */
  readonly afterMs: number;
  readonly forMs: number;
}

/** An outage: a service refuses or fails a share of all calls. */
export interface Outage {
  readonly service: 'dynamodb' | 'kinesis' | 's3';
  readonly share: number;
}

/** Decides when the models use AWS's freedoms (faults/freedoms.json), and when invocations are killed. */
export class Faults extends Freedoms {
  /** The current outage, if there is one. */
  outage: Outage | undefined;

  override takes(name: FreedomName, share = SHARES[name]): boolean {
    return super.takes(name, share);
  }

  /** Draws how long a call takes, in ms. A later call may be answered before an earlier one. */
  latencyMs(): number {
    return this.random.integer(1, 12) + this.delayMs('slow');
  }

  /** Draws how long after its start an invocation is killed, in ms; undefined if it is not. */
  killAfterMs(name: string): number | undefined {
    if (!KILLED.has(name) || !this.draws('instance killed', KILLED_SHARE)) return undefined;
    return this.random.integer(1, KILL_WITHIN_MS);
  }

  /** Draws whether an invocation pauses, which may take longer than a lease lasts. */
  stalls(name: string): Stall | undefined {
    if (!STALLED.has(name) || !this.draws('instance stalled', STALLED_SHARE)) return undefined;
    return {
      afterMs: this.random.integer(1, KILL_WITHIN_MS),
      forMs: this.random.integer(1_000, STALLED_MOST_MS),
    };
  }

  /** Whether an instance is frozen after an invocation. */
  freezes(): boolean {
    return this.draws('instance frozen', FROZEN_SHARE);
  }

  /** Whether the connection to memory is closed during a command: before or after the command takes effect. */
  cutsCache(): 'before' | 'after' | undefined {
    if (!this.draws('cache connections dropped', CACHE_CUT_SHARE)) return undefined;
    return this.random.chance(0.5) ? 'before' : 'after';
  }

  cutsBody(): boolean {
    return this.draws('body cut', FREEDOMS.find(({ name }) => name === 'body cut')?.share ?? 0);
  }

  call(service: string, isConditional: boolean): CallFault {
    if (this.outage?.service === service && this.draws(`outage of ${service}`, this.outage.share))
      return this.random.pick(['throttled', 'failed inside']);
    if (this.takes('throttled')) return 'throttled';
    if (this.takes('failed inside')) return 'failed inside';
    const { share, conditionalShare } = this.of('response lost');
    if (!this.takes('response lost', isConditional ? conditionalShare : share)) return undefined;
    return this.random.chance(0.5) ? 'response lost' : 'connection lost';
  }

  readonly table: TableFreedoms = {
    pageItems: () => (this.takes('query ends early') ? this.random.integer(1, 3) : undefined),
    isUnprocessed: () => this.takes('keys unprocessed'),
    staleMs: () => this.delayMs('stale read'),
  };

  readonly stream: StreamFreedoms = { isRefused: () => this.takes('records refused') };

  readonly bucket: BucketFreedoms = {
    pageKeys: () => (this.takes('short page of a list') ? this.random.integer(1, 3) : undefined),
    isConflict: () => this.takes('conflict of conditions'),
  };
}
