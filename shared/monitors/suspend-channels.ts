import type { Id } from '../model/id';
import type { AutoIdDocuments } from '../registry/auto-id-documents';
import type { Channel } from './channel';

/**
 * Suspends channels, so that nothing is sent to them until a user replaces them. A channel that is already
 * suspended keeps its `suspendedAt`. Unknown ids are ignored.
 */
export async function suspendChannels(
  channels: Pick<AutoIdDocuments<Channel>, 'change'>,
  tenantId: Id,
  ids: readonly string[],
  nowMs: number,
): Promise<void> {
  const suspendedAt = Math.floor(nowMs / 1000);
  for (const id of ids)
    await channels.change(tenantId, id, (channel) => ({
      ...channel,
      suspendedAt: channel.suspendedAt ?? suspendedAt,
    }));
}
