import type { OperatorDependencies } from './operator-dependencies';
import type { OperatorCommand } from './operator-event';

/** State of the hot tier's primaries. */
export interface MemoryWatch {
  /** Number of primaries that serve slots; null when a primary did not answer. */
  readonly primaries: number | null;
  /** Whether a slot is being moved. */
  readonly isMoving: boolean;
  /** Number of losses that have been noticed so far. */
  readonly notices: number;
}

/**
 * Reads the primaries of the cluster and records whether one has failed, as a flusher does each minute. Also
 * records how much longer the calling command may move slots. During that time, flushers flush everything
 * immediately, and a primary that disappears counts as a loss of all partitions.
 */
export async function watchMemory(
  { losses, recovery, now }: Pick<OperatorDependencies, 'losses' | 'recovery' | 'now'>,
  { scalingForMs }: OperatorCommand<'watch memory'>,
): Promise<MemoryWatch> {
  if (scalingForMs > 0) await recovery.putScalingUntil(now() + scalingForMs);
  const { topology } = await losses.lookAndRecord();
  // If the command has finished, clear its time only after this look at the primaries, so that slots that
  // moved before it still count as moved by the command.
  if (scalingForMs === 0) await recovery.putScalingUntil(0);
  return {
    primaries: topology.primaries?.filter(({ slots }) => slots !== '').length ?? null,
    isMoving: topology.isMoving,
    notices: (await recovery.loss())?.notices ?? 0,
  };
}
