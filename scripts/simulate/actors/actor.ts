import type { Random } from '../../faults/random';
import type { Stage } from '../stage';

/**
 * Somebody who acts at random moments. An actor draws from a generator of its own, so that another actor's
 * absence changes nothing that it draws.
 */
export interface Actor {
  readonly name: string;
  /** Shortest and longest time between two acts, ms. */
  readonly everyMs: readonly [number, number];
  act(stage: Stage, random: Random): Promise<void>;
}
