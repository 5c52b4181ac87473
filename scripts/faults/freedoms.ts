import list from './freedoms.json';
import { Random } from './random';

/** What AWS may do by its own documents: the list that the stand-in (local/freedoms.py), the local host and tests draw from. */
export interface Freedom {
  readonly name: string;
  /** Who uses it: both stand-ins at all times, the stand-in for AWS, the local host, or tests of their own. */
  readonly where: 'always' | 'stand-in' | 'host' | 'tests';
  readonly does: string;
  /** The document that grants it. */
  readonly document: string;
  /** A test that shows that nothing is lost by it. */
  readonly test: string;
  /** Of the calls, deliveries, ticks or instances that may meet it. */
  readonly share?: number;
  /** Longest delay or error, ms. */
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

/** Uses the freedoms of the local host, by a seed. */
export class Freedoms {
  private readonly random: Random;
  private readonly byName = new Map(FREEDOMS.map((freedom) => [freedom.name, freedom]));
  /** How often each was used. */
  readonly used = new Map<string, number>();

  constructor(readonly seed: number) {
    this.random = new Random(seed);
  }

  /** Decides whether a freedom is used now. */
  takes(name: HostFreedom): boolean {
    const isTaken = this.random.chance(this.byName.get(name)!.share!);
    if (isTaken) this.used.set(name, (this.used.get(name) ?? 0) + 1);
    return isTaken;
  }

  /** A random time below the freedom's most, ms; 0 if it is not used now. */
  delayMs(name: 'timer late' | 'instance frozen'): number {
    return this.takes(name) ? this.random.integer(1, this.byName.get(name)!.mostMs!) : 0;
  }

  /** Error of a new instance's clock, ms. */
  clockSkewMs(): number {
    const mostMs = this.byName.get('clock off')!.mostMs!;
    return this.takes('clock off') ? this.random.integer(-mostMs, mostMs) : 0;
  }

  /** Records of the next batch, at least one and at most `most`. */
  batchLength(most: number): number {
    return this.takes('batch cut') ? this.random.integer(1, most) : most;
  }

  get dropConnectionsMs(): number {
    return this.byName.get('cache connections dropped')!.everyMs!;
  }
}
