import { type Id, idBytes } from '../model/id';
import type { Table } from '../platform/table';
import { AutoIdDocuments } from '../registry/auto-id-documents';
import { defaultNotificationGroup, type NotificationGroup } from './notification-group';

/** Returns the id of a tenant's default group. The id is known even if the group is not stored. */
export function defaultGroupId(tenantId: Id): string {
  return idBytes('default-notification-group', tenantId).toString('hex').slice(0, 11);
}

/** Stores tenants' notification groups. A default group is stored only once it is changed. */
export class NotificationGroups extends AutoIdDocuments<NotificationGroup> {
  constructor(table: Table) {
    super(table, 'notification-groups');
  }

  override async list(tenantId: Id): Promise<NotificationGroup[]> {
    const stored = await super.list(tenantId);
    const id = defaultGroupId(tenantId);
    return stored.some((group) => group.id === id) ? stored : [defaultNotificationGroup(id), ...stored];
  }

  override async change(
    tenantId: Id,
    id: string,
    change: (group: NotificationGroup) => NotificationGroup,
  ): Promise<NotificationGroup | undefined> {
    if (id !== defaultGroupId(tenantId)) return super.change(tenantId, id, change);
    return this.documents.createOrChange(tenantId, id, (stored) =>
      change(stored ?? defaultNotificationGroup(id)),
    );
  }

  /** Removes a deleted channel or group from the groups that contain it. */
  async removeChild(
    tenantId: Id,
    field: 'childChannelIds' | 'childNotificationGroupIds',
    childId: string,
  ): Promise<void> {
    for (const group of await this.list(tenantId))
      if (group[field]?.includes(childId))
        await this.change(tenantId, group.id, (stored) => ({
          ...stored,
          [field]: stored[field]?.filter((id) => id !== childId),
        }));
  }
}
