import list from './freedoms.json';
import type { Random } from './random';

/**
 * A freedom: a behaviour that AWS's documents permit and that programs must survive, such as delivering a batch twice.
 * The stand-in (local/freedoms.py), the local host and tests use this list.
 */
export interface Freedom {
  readonly name: string;
  /**
   * Where the behaviour occurs: always in both stand-ins, in the stand-in for AWS, in the local host of
   * functions, or only in dedicated tests.
   */
  readonly where: 'always' | 'stand-in' | 'host' | 'tests';
  readonly does: string;
  /** AWS's document that permits the behaviour. */
  readonly document: string;
  /** Test that shows that the behaviour causes no loss. */
  readonly test: string;
  /** Share of calls, deliveries, ticks or instances that are affected. */
  readonly share?: number;
  /**
   * Share of conditional writes that are affected. If such a write is retried, the retry may meet the first attempt's
   * result.
   */
  readonly conditionalShare?: number;
  /** Largest delay or error in ms. */
  readonly mostMs?: number;
  readonly everyMs?: number;
}

export const FREEDOMS = list as readonly Freedom[];

/** Freedoms that a stand-in for AWS uses in a share of the calls, deliveries, ticks or instances. */
export type FreedomName =
  | 'throttled'
  | 'failed inside'
  | 'response lost'
  | 'slow'
  | 'records refused'
  | 'query ends early'
  | 'keys unprocessed'
  | 'stale read'
  | 'conflict of conditions'
  | 'short page of a list'
  | 'batch cut'
  | 'batch again'
  | 'batch twice at once'
  | 'timer twice'
  | 'timer late'
  | 'clock off'
  | 'instance reclaimed'
  | 'instance frozen';

/** Decides at random in which calls, deliveries, ticks and instances a stand-in for AWS uses a {@link Freedom}. */
export class Freedoms {
  private readonly byName = new Map(FREEDOMS.map((freedom) => [freedom.name, freedom]));
  /** Number of uses of each freedom. */
  readonly used = new Map<string, number>();
  /** While true, no freedom is used. */
  isCalm = false;

  /** @param random seeded, so that the seed repeats the decisions */
  constructor(readonly random: Random) {}

  /**
   * Decides whether the stand-in uses a {@link Freedom} in the current call, delivery, tick or instance.
   *
   * @param share how often the answer is yes. @default the freedom's share in FREEDOMS
   */
  takes(name: FreedomName, share = this.of(name).share!): boolean {
    return this.draws(name, share);
  }

  /** Returns a random time up to the freedom's maximum, in ms; 0 if the freedom is not used now. */
  delayMs(name: 'slow' | 'stale read' | 'timer late' | 'instance frozen'): number {
    return this.takes(name) ? this.random.integer(1, this.of(name).mostMs!) : 0;
  }

  /** Returns the clock error of a new instance in ms. */
  clockSkewMs(): number {
    const mostMs = this.of('clock off').mostMs!;
    return this.takes('clock off') ? this.random.integer(-mostMs, mostMs) : 0;
  }

  /** Returns the number of records in the next batch, from one to `most`. */
  batchLength(most: number): number {
    return this.takes('batch cut') ? this.random.integer(1, most) : most;
  }

  get dropConnectionsMs(): number {
    return this.byName.get('cache connections dropped')!.everyMs!;
  }

  protected of(name: FreedomName): Freedom {
    return this.byName.get(name)!;
  }

  /**
   * Decides at random. Draws a number even while no freedom is used, so that the numbers drawn later do not depend on
   * such periods.
   */
  protected draws(name: string, share: number): boolean {
    const isTaken = this.random.chance(share) && !this.isCalm;
    if (isTaken) this.used.set(name, (this.used.get(name) ?? 0) + 1);
    return isTaken;
  }
}
