import type { Random } from '../../faults/random';
import type { Stage } from '../stage';

/**
 * Something that acts at random moments. Each actor has its own random generator, so it draws the same numbers even if
 * another actor is left out.
 */
export interface Actor {
  readonly name: string;
  /** Minimum and maximum time between two acts, in ms. */
  readonly everyMs: readonly [number, number];
  act(stage: Stage, random: Random): Promise<void>;
}
