import type { RouteHandlers } from '../../shared/http/handler';
import { HttpError, reply, requireFound } from '../../shared/http/http';
import type { Channel, ChannelSpec } from '../../shared/monitors/channel';
import type { AlertGroupSettingSpec, NotificationGroupSpec } from '../../shared/monitors/notification-group';
import { defaultGroupId } from '../../shared/monitors/notification-groups';
import { checkNotificationGroup, checkScopes } from '../../shared/monitors/references';
import type { Tenant } from '../../shared/tenancy/tenants';
import {
  alertGroupSettings,
  channels,
  monitors,
  notificationGroups,
  requirePublicUrl,
  sendsMail,
  services,
} from './stores';

/** Maximum number of objects of each kind that a tenant may have. */
const MOST = { channels: 200, notificationGroups: 200, alertGroupSettings: 200 } as const;

/** Mackerel's objects for notifications: channels, notification groups, and settings of alert groups. */
export const notificationHandlers: RouteHandlers = {
  'GET /api/v0/channels': async ({ tenant }) =>
    reply(200, { channels: (await channels.list(tenant.id)).map(channelView) }),

  'POST /api/v0/channels': async ({ tenant, body: { addToDefaultNotificationGroup, ...spec } }) => {
    checkChannel(spec);
    const channel = await channels.create(tenant.id, spec, MOST.channels);
    if (addToDefaultNotificationGroup)
      await notificationGroups.change(tenant.id, defaultGroupId(tenant.id), (group) => ({
        ...group,
        // Use a set: if the table's response to the first attempt was lost, a retry adds the same id again.
        childChannelIds: [...new Set([...(group.childChannelIds ?? []), channel.id])],
      }));
    return reply(200, channelView(channel));
  },

  // Resume a suspended channel when it is replaced: its new settings probably fix the problem.
  'PUT /api/v0/channels/{channelId}': async ({ tenant, path: { channelId }, body }) => {
    const { addToDefaultNotificationGroup: _, ...spec } = body;
    checkChannel(spec);
    const changed = await channels.change(tenant.id, channelId, ({ id, type }) => {
      if (type !== spec.type)
        throw new HttpError(400, `type: the channel is of type ${type}, which cannot change`);
      return { id, ...spec };
    });
    return reply(200, channelView(requireFound('channel', channelId, changed)));
  },

  'DELETE /api/v0/channels/{channelId}': async ({ tenant, path: { channelId } }) => {
    const removed = requireFound('channel', channelId, await channels.remove(tenant.id, channelId));
    await notificationGroups.removeChild(tenant.id, 'childChannelIds', channelId);
    return reply(200, channelView(removed));
  },

  'GET /api/v0/notification-groups': async ({ tenant }) =>
    reply(200, { notificationGroups: await notificationGroups.list(tenant.id) }),

  'POST /api/v0/notification-groups': async ({ tenant, body }) => {
    await checkGroup(tenant, body, undefined);
    const spec = { type: 'group' as const, ...body };
    return reply(200, await notificationGroups.create(tenant.id, spec, MOST.notificationGroups));
  },

  'PUT /api/v0/notification-groups/{notificationGroupId}': async ({ tenant, path, body }) => {
    const { notificationGroupId } = path;
    await checkGroup(tenant, body, notificationGroupId);
    const changed = await notificationGroups.change(tenant.id, notificationGroupId, ({ id, type, name }) => {
      if (type === 'group-default' && body.name !== name)
        throw new HttpError(
          400,
          `name: the default notification group keeps its name ${JSON.stringify(name)}`,
        );
      return { id, type, ...body };
    });
    return reply(200, requireFound('notification group', notificationGroupId, changed));
  },

  'DELETE /api/v0/notification-groups/{notificationGroupId}': async ({ tenant, path }) => {
    const { notificationGroupId: id } = path;
    if (id === defaultGroupId(tenant.id))
      throw new HttpError(400, 'the default notification group cannot be deleted');
    const removed = requireFound('notification group', id, await notificationGroups.remove(tenant.id, id));
    await notificationGroups.removeChild(tenant.id, 'childNotificationGroupIds', id);
    return reply(200, removed);
  },

  'GET /api/v0/alert-group-settings': async ({ tenant }) =>
    reply(200, { alertGroupSettings: await alertGroupSettings.list(tenant.id) }),

  'GET /api/v0/alert-group-settings/{alertGroupSettingId}': async ({ tenant, path }) => {
    const { alertGroupSettingId: id } = path;
    return reply(200, requireFound('alert group setting', id, await alertGroupSettings.get(tenant.id, id)));
  },

  'POST /api/v0/alert-group-settings': async ({ tenant, body }) => {
    await checkSetting(tenant, body, undefined);
    return reply(200, await alertGroupSettings.create(tenant.id, body, MOST.alertGroupSettings));
  },

  'PUT /api/v0/alert-group-settings/{alertGroupSettingId}': async ({ tenant, path, body }) => {
    const { alertGroupSettingId } = path;
    await checkSetting(tenant, body, alertGroupSettingId);
    const changed = await alertGroupSettings.change(tenant.id, alertGroupSettingId, ({ id }) => ({
      id,
      ...body,
    }));
    return reply(200, requireFound('alert group setting', alertGroupSettingId, changed));
  },

  'DELETE /api/v0/alert-group-settings/{alertGroupSettingId}': async ({ tenant, path }) => {
    const { alertGroupSettingId: id } = path;
    return reply(
      200,
      requireFound('alert group setting', id, await alertGroupSettings.remove(tenant.id, id)),
    );
  },
};

/**
 * Returns a channel in the form that clients get. If the stage has no topic for mails, channels of type `email` are
 * shown as suspended since time 0.
 */
function channelView(channel: Channel) {
  const isUnsent = channel.type === 'email' && !sendsMail;
  return { ...channel, suspendedAt: channel.suspendedAt ?? (isUnsent ? 0 : null) };
}

function checkChannel(spec: ChannelSpec): void {
  if ('url' in spec) requirePublicUrl('url', spec.url);
}

/**
 * Checks that the channels, monitors, services and other groups that a notification group names exist.
 *
 * @param id id of the group that is being replaced; undefined for a new one
 */
async function checkGroup(tenant: Tenant, spec: NotificationGroupSpec, id: string | undefined) {
  const [groups, knownChannels, knownMonitors, knownServices] = await Promise.all([
    notificationGroups.list(tenant.id),
    channels.list(tenant.id),
    monitors.list(tenant.id),
    services.list(tenant.id),
  ]);
  const known = { groups, channels: knownChannels, monitors: knownMonitors, services: knownServices };
  checkNotificationGroup(spec, known, id);
}

/**
 * Checks that the services, roles and monitors that a setting names exist.
 *
 * @param id id of the setting that is being replaced; undefined for a new one
 */
async function checkSetting(tenant: Tenant, spec: AlertGroupSettingSpec, id: string | undefined) {
  const [knownServices, knownMonitors, stored] = await Promise.all([
    services.list(tenant.id),
    monitors.list(tenant.id),
    id === undefined ? undefined : alertGroupSettings.get(tenant.id, id),
  ]);
  checkScopes(spec, { services: knownServices, monitors: knownMonitors }, stored);
}
