import { FREEDOMS } from '../faults/freedoms';
import type { Random } from '../faults/random';
import type { TableFreedoms } from './dynamodb';
import type { StreamFreedoms } from './kinesis';
import type { BucketFreedoms } from './s3';

/** What happens to a call to AWS, beyond its answer. */
export type CallFault = 'throttled' | 'failed inside' | 'answer lost' | 'connection lost' | undefined;

/** Shares of freedoms that cost the simulation much time: each new instance takes tens of ms of CPU. */
const SHARES: Readonly<Record<string, number>> = { 'instance reclaimed': 0.001 };
/** Share of invocations that are killed, and by when. */
const [KILLED_SHARE, KILL_WITHIN_MS] = [0.002, 60];
const KILLED = new Set(['ingester', 'flusher', 'archiver', 'recovery', 'operator']);

/** Decides from a seed when the models use the freedoms of AWS (faults/freedoms.json), until they are calmed. */
export class Faults {
  private readonly byName = new Map(FREEDOMS.map((freedom) => [freedom.name, freedom]));
  /** Number of uses of each freedom. */
  readonly used = new Map<string, number>();
  isCalm: boolean;

  constructor(
    readonly random: Random,
    isCalm = false,
  ) {
    this.isCalm = isCalm;
  }

  takes(name: string, share = SHARES[name] ?? this.byName.get(name)?.share ?? 0): boolean {
    const isTaken = this.random.chance(share) && !this.isCalm;
    if (isTaken) this.used.set(name, (this.used.get(name) ?? 0) + 1);
    return isTaken;
  }

  /** A random time below a freedom's maximum, ms; 0 if it is not used now. */
  delayMs(name: string): number {
    return this.takes(name) ? this.random.integer(1, this.byName.get(name)!.mostMs!) : 0;
  }

  /** How long a call takes, ms. Calls overtake each other. */
  latencyMs(): number {
    return this.random.integer(1, 12) + this.delayMs('slow');
  }

  clockSkewMs(): number {
    const mostMs = this.byName.get('clock off')!.mostMs!;
    return this.takes('clock off') ? this.random.integer(-mostMs, mostMs) : 0;
  }

  batchLength(most: number): number {
    return most > 1 && this.takes('batch cut') ? this.random.integer(1, most) : most;
  }

  /** When an invocation is killed, ms after its start. */
  killAfterMs(name: string): number | undefined {
    if (!KILLED.has(name) || !this.takes('instance killed', KILLED_SHARE)) return undefined;
    return this.random.integer(1, KILL_WITHIN_MS);
  }

  call(isConditional: boolean): CallFault {
    if (this.takes('throttled')) return 'throttled';
    if (this.takes('failed inside')) return 'failed inside';
    const { share, conditionalShare } = this.byName.get('answer lost')!;
    if (!this.takes('answer lost', isConditional ? conditionalShare : share)) return undefined;
    return this.random.chance(0.5) ? 'answer lost' : 'connection lost';
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
