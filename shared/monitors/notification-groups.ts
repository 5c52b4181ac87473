import { type Id, idBytes } from '../model/id';
import type { Table } from '../platform/table';
import { GivenDocuments } from '../registry/given-documents';
import { defaultNotificationGroup, type NotificationGroup } from './notification-group';

/** The id of a tenant's default group, which exists without being stored. */
export function defaultGroupId(tenantId: Id): string {
  return idBytes('default-notification-group', tenantId).toString('hex').slice(0, 11);
}

/** The notification groups of tenants. Each tenant has its default group, which is stored once it is changed. */
export class NotificationGroups extends GivenDocuments<NotificationGroup> {
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
    return this.documents.settle(tenantId, id, (stored) => change(stored ?? defaultNotificationGroup(id)));
  }

  /** Removes a channel or a group that no longer exists from the groups that have it as a child. */
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
