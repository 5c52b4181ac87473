import type { OperatorDependencies } from './operator-dependencies';
import type { OperatorCommand } from './operator-event';

/** State of the hot tier's primaries. */
export interface MemoryWatch {
  /** Number of primaries that serve slots; null when a primary did not answer. */
  readonly primaries: number | null;
  /** Whether a slot is being migrated. */
  readonly isMoving: boolean;
  /** Number of losses noticed so far. */
  readonly notices: number;
}

/**
 * Looks at the primaries, as a flusher does each minute, and records how much longer the calling command may move
 * slots. During that time flushers empty memory immediately, and a primary that disappears counts as a loss of all
 * partitions.
 */
export async function watchMemory(
  { losses, recovery, now }: Pick<OperatorDependencies, 'losses' | 'recovery' | 'now'>,
  { scalingForMs }: OperatorCommand<'watch memory'>,
): Promise<MemoryWatch> {
  if (scalingForMs > 0) await recovery.putScalingUntil(now() + scalingForMs);
  const { topology } = await losses.lookAndRecord();
  // Clear the record only after looking at the primaries. Slots that moved until now then still count as moved by the
  // command.
  if (scalingForMs === 0) await recovery.putScalingUntil(0);
  return {
    primaries: topology.primaries?.filter(({ slots }) => slots !== '').length ?? null,
    isMoving: topology.isMoving,
    notices: (await recovery.loss())?.notices ?? 0,
  };
}
