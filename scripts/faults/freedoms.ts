import list from './freedoms.json';
import { Random } from './random';

/**
 * Behaviour that AWS's documents permit. The stand-in (local/freedoms.py), the local host and tests use this
 * list.
 */
export interface Freedom {
  readonly name: string;
  /**
   * Where it occurs: always in both stand-ins, in the stand-in for AWS, in the local host, or in dedicated
   * tests.
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
   * Share of conditional writes that are affected. A retry of such a write may meet the first attempt's
   * result.
   */
  readonly conditionalShare?: number;
  /** Largest delay or error in ms. */
  readonly mostMs?: number;
  readonly everyMs?: number;
}

export const FREEDOMS = list as readonly Freedom[];

export type HostFreedom =
  | 'batch cut'
  | 'batch again'
  | 'batch twice at once'
  | 'timer twice'
  | 'timer late'
  | 'clock off'
  | 'instance reclaimed'
  | 'instance frozen';

/** Decides from a seed when the local host uses a freedom. */
export class Freedoms {
  private readonly random: Random;
  private readonly byName = new Map(FREEDOMS.map((freedom) => [freedom.name, freedom]));
  /** Number of uses of each freedom. */
  readonly used = new Map<string, number>();

  constructor(readonly seed: number) {
    this.random = new Random(seed);
  }

  /** Decides whether to use a freedom now. */
  takes(name: HostFreedom): boolean {
    const isTaken = this.random.chance(this.byName.get(name)!.share!);
    if (isTaken) this.used.set(name, (this.used.get(name) ?? 0) + 1);
    return isTaken;
  }

  /** Returns a random time below the freedom's maximum in ms; 0 if it is not used now. */
  delayMs(name: 'timer late' | 'instance frozen'): number {
    return this.takes(name) ? this.random.integer(1, this.byName.get(name)!.mostMs!) : 0;
  }

  /** Returns the clock error of a new instance in ms. */
  clockSkewMs(): number {
    const mostMs = this.byName.get('clock off')!.mostMs!;
    return this.takes('clock off') ? this.random.integer(-mostMs, mostMs) : 0;
  }

  /** Returns the number of records in the next batch, from one to `most`. */
  batchLength(most: number): number {
    return this.takes('batch cut') ? this.random.integer(1, most) : most;
  }

  get dropConnectionsMs(): number {
    return this.byName.get('cache connections dropped')!.everyMs!;
  }
}
