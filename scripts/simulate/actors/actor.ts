import type { Random } from '../../faults/random';
import type { Stage } from '../stage';

/**
 * Somebody who acts at random moments. Each actor draws from a generator of its own, so it draws the same numbers
 * when another actor is left out.
 */
export interface Actor {
  readonly name: string;
  /** Shortest and longest time between two acts, ms. */
  readonly everyMs: readonly [number, number];
  act(stage: Stage, random: Random): Promise<void>;
}
