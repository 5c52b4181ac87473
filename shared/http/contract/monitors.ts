import * as z from 'zod';
import { ALERT_STATUSES } from '../../monitors/alert-record';
import { channelSpec } from '../../monitors/channel';
import { downtimeSpec } from '../../monitors/downtime';
import { givenId } from '../../monitors/fields';
import { monitorSpec } from '../../monitors/monitor';
import { alertGroupSettingSpec, notificationGroupSpec } from '../../monitors/notification-group';
import { unixSeconds } from '../../platform/fields';
import { crudRoutes } from './crud';
import type { Route } from './route';

const id = z.string();

// zod cannot extend a schema with refinements, so the response reuses the schemas without them. The stored object was
// validated when it was posted.
const monitor = z
  .union(monitorSpec.options.map(({ shape }) => z.object({ id, ...shape })))
  .meta({ id: 'Monitor' });
const downtime = z.object({ id, ...downtimeSpec.shape }).meta({ id: 'Downtime' });
const channel = z
  .union(
    channelSpec.options.map(({ shape }) =>
      z.object({
        id,
        suspendedAt: z.int().nullable().meta({ description: 'Unix time in seconds.' }),
        ...shape,
      }),
    ),
  )
  .meta({ id: 'Channel' });
const notificationGroup = z
  .object({ id, type: z.enum(['group', 'group-default']), ...notificationGroupSpec.shape })
  .meta({ id: 'NotificationGroup' });
const alertGroupSetting = z.object({ id, ...alertGroupSettingSpec.shape }).meta({ id: 'AlertGroupSetting' });

/** Body that creates a channel. It may also add the channel to the default notification group. */
const newChannel = z.intersection(
  channelSpec,
  z.object({ addToDefaultNotificationGroup: z.boolean().nullish() }),
);

const subject = {
  hostId: z.string().optional(),
  series: z.object({ name: z.string(), labels: z.record(z.string(), z.string()) }).optional(),
};
const preview = z
  .object({
    from: z.number().meta({ description: 'The first tick, as Unix time in seconds.' }),
    step: z.number().meta({ description: 'Seconds between ticks.' }),
    ticks: z.int(),
    lines: z.array(z.object({ ...subject, values: z.array(z.number().nullable()) })).meta({
      description: 'The values compared with the thresholds at each tick, for at most 10 hosts or series.',
    }),
    subjects: z.int().meta({ description: 'Number of hosts or series that had a value.' }),
    alerts: z
      .array(
        z.object({
          ...subject,
          status: z.enum(ALERT_STATUSES).meta({ description: 'The worst status that the alert had.' }),
          openedAt: z.number(),
          closedAt: z.number().optional(),
          value: z.number().optional(),
          message: z.string().optional(),
        }),
      )
      .meta({ description: 'At most 1,000, the oldest first.' }),
    alertCount: z.int(),
    failed: z
      .object({ ticks: z.int(), firstAt: z.number(), error: z.string() })
      .optional()
      .meta({ description: 'Ticks at which the monitor could not be evaluated.' }),
  })
  .meta({ id: 'MonitorPreview' });

const MONITORS = '/api/v0/monitors';
export const NOTIFICATION_GROUPS = '/api/v0/notification-groups';
const ALERT_GROUP_SETTINGS = '/api/v0/alert-group-settings';

/** Monitors, downtimes, channels, notification groups and alert group settings. */
export const monitorRoutes = [
  ...crudRoutes({
    path: MONITORS,
    parameter: 'monitorId',
    one: 'a monitor',
    many: 'monitors, sorted by type and name',
    body: monitorSpec,
    response: monitor,
    list: z.object({ monitors: z.array(monitor) }),
  }),
  {
    method: 'GET',
    path: `${MONITORS}/{monitorId}`,
    right: 'read',
    function: 'registry',
    summary: 'Read a monitor',
    response: z.object({ monitor }),
  },
  {
    method: 'POST',
    path: '/api/v1/monitors/preview',
    right: 'read',
    function: 'query',
    readsSamples: true,
    summary: 'Preview a monitor: list the alerts that it would have opened in a past range',
    body: z.object({
      monitor: monitorSpec,
      id: givenId.optional().meta({
        description:
          'Id of the monitor, if it is stored. Downtimes with this monitor in their scope then apply.',
      }),
      from: unixSeconds.optional().meta({ description: 'Default: a day before `to`.' }),
      to: unixSeconds.optional().meta({ description: 'Default: now.' }),
    }),
    response: preview,
  },
  ...crudRoutes({
    path: '/api/v0/downtimes',
    parameter: 'downtimeId',
    one: 'a downtime',
    many: 'downtimes',
    body: downtimeSpec,
    response: downtime,
    list: z.object({ downtimes: z.array(downtime) }),
  }),
  ...crudRoutes({
    path: '/api/v0/channels',
    parameter: 'channelId',
    one: 'a notification channel',
    many: 'notification channels',
    body: newChannel,
    response: channel,
    list: z.object({ channels: z.array(channel) }),
  }),
  ...crudRoutes({
    path: NOTIFICATION_GROUPS,
    parameter: 'notificationGroupId',
    one: 'a notification group',
    many: 'notification groups',
    body: notificationGroupSpec,
    response: notificationGroup,
    list: z.object({ notificationGroups: z.array(notificationGroup) }),
  }),
  ...crudRoutes({
    path: ALERT_GROUP_SETTINGS,
    parameter: 'alertGroupSettingId',
    one: 'an alert group setting',
    many: 'alert group settings',
    body: alertGroupSettingSpec,
    response: alertGroupSetting,
    list: z.object({ alertGroupSettings: z.array(alertGroupSetting) }),
  }),
  {
    method: 'GET',
    path: `${ALERT_GROUP_SETTINGS}/{alertGroupSettingId}`,
    right: 'read',
    function: 'registry',
    summary: 'Read an alert group setting',
    response: alertGroupSetting,
  },
] as const satisfies readonly Route[];
