import * as z from 'zod';
import { text } from '../platform/fields';
import { givenId, givenIds, memo, name, notificationInterval, scopeTexts } from './fields';

const MAX_TARGETS = 200;

const groupFields = {
  name,
  notificationLevel: z.enum(['all', 'critical']),
  childNotificationGroupIds: givenIds.nullish(),
  childChannelIds: givenIds.nullish(),
  monitors: z
    .array(z.object({ id: givenId, skipDefault: z.boolean().nullish() }))
    .max(MAX_TARGETS)
    .nullish(),
  services: z
    .array(z.object({ name: text(1, 63) }))
    .max(MAX_TARGETS)
    .nullish(),
};

/** A notification group as a client posts it. */
export const notificationGroupSpec = z.object(groupFields);
export type NotificationGroupSpec = z.output<typeof notificationGroupSpec>;

export type NotificationGroup = NotificationGroupSpec & {
  readonly id: string;
  /**
   * Each tenant has one default group. It receives the events of all monitors, except those that another
   * group names with `skipDefault`.
   */
  readonly type: 'group' | 'group-default';
};

/** Returns the initial default group of a tenant. */
export function defaultNotificationGroup(id: string): NotificationGroup {
  return {
    id,
    type: 'group-default',
    name: 'Default',
    notificationLevel: 'all',
    childNotificationGroupIds: [],
    childChannelIds: [],
  };
}

/** Returns whether the changed group would contain itself, directly or through its children. */
export function hasCycle(
  groups: readonly Pick<NotificationGroup, 'id' | 'childNotificationGroupIds'>[],
  changed: Pick<NotificationGroup, 'id' | 'childNotificationGroupIds'>,
): boolean {
  const children = new Map(
    groups.map(({ id, childNotificationGroupIds }) => [id, childNotificationGroupIds]),
  );
  children.set(changed.id, changed.childNotificationGroupIds);
  const reached = new Set<string>();
  const waiting = [...(changed.childNotificationGroupIds ?? [])];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (id === changed.id) return true;
    if (reached.has(id)) continue;
    reached.add(id);
    waiting.push(...(children.get(id) ?? []));
  }
  return false;
}

/** Schema of a setting that combines alerts of the same monitors, services or roles into one notification. */
export const alertGroupSettingSpec = z.object({
  name,
  memo,
  serviceScopes: scopeTexts.nullish(),
  roleScopes: scopeTexts.nullish(),
  monitorScopes: givenIds.nullish(),
  notificationInterval,
});
export type AlertGroupSettingSpec = z.output<typeof alertGroupSettingSpec>;
export type AlertGroupSetting = AlertGroupSettingSpec & { readonly id: string };
