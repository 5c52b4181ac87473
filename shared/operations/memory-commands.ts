import type { Loss } from '../recovery/recovery-table';
import type { OperatorDependencies } from './operator-dependencies';
import type { OperatorCommand } from './operator-event';

/** The hot tier's primaries at one time. */
export interface MemoryWatch {
  /** Primaries that serve slots; null when one did not answer. */
  readonly primaries: number | null;
  /** Whether a slot is on its way, key by key. */
  readonly isMoving: boolean;
  /** How often a loss was noticed so far. */
  readonly notices: number;
  /** Whether a loss awaits its replay. */
  readonly hasOpenLoss: boolean;
}

/**
 * Looks at the primaries, as a flusher does each minute, and notes for how long the command that calls this may still move
 * slots. Meanwhile flushers empty memory at once, and a primary that goes is a loss of all partitions.
 */
export async function watchMemory(
  { losses, recovery, now }: Pick<OperatorDependencies, 'losses' | 'recovery' | 'now'>,
  { scalingForMs }: OperatorCommand<'watch memory'>,
): Promise<MemoryWatch> {
  if (scalingForMs > 0) await recovery.putScaling(now() + scalingForMs);
  const { topology } = await losses.observe();
  // After the look: what moved until now is judged by it.
  if (scalingForMs === 0) await recovery.putScaling(0);
  const loss: Loss | undefined = await recovery.loss();
  return {
    primaries: topology.primaries?.filter(({ slots }) => slots !== '').length ?? null,
    isMoving: topology.isMoving,
    notices: loss?.notices ?? 0,
    hasOpenLoss: loss?.isOpen ?? false,
  };
}
