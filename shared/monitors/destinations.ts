import type { Destination, DestinationRequest } from '../alerting/delivery/deliver';
import type { TopicMessage } from '../alerting/delivery/message-text';
import type { OutsideRequest } from '../alerting/delivery/post-outside';
import type { Id } from '../model/id';
import type { Tenant } from '../tenancy/tenants';
import type { AlertBatch, AlertEvent } from './alert-event';
import type { AlertStore } from './alert-store';
import type { Channel } from './channel';
import { channelSlackBody, channelWebhookBody, mailMessage } from './channel-bodies';
import type { NotificationGroup } from './notification-group';

export interface DestinationStores {
  readonly alerts: Pick<AlertStore, 'record'>;
  readonly channels: { list(tenantId: Id): Promise<readonly Channel[]> };
  readonly groups: { list(tenantId: Id): Promise<readonly NotificationGroup[]> };
  readonly post: (request: OutsideRequest) => Promise<void>;
  /**
   * Publishes a message to the notification topic that sends emails. Absent if the stage has no such topic.
   *
   * @throws {DeliveryError}
   */
  readonly mail?: (message: TopicMessage) => Promise<void>;
  readonly externalUrl: string;
}

/**
 * Id of the list of alerts, which is the first destination of every batch. The channels wait until the list
 * has the batch, but only for the first ten minutes.
 */
const RECORD = 'record';

/**
 * Returns the destinations of a batch: the list of alerts, then the channels of notification groups, each with
 * the events that it should receive.
 */
export async function destinationsOf(
  { alerts, channels, groups, post, mail, externalUrl }: DestinationStores,
  { id, name }: Pick<Tenant, 'id' | 'name'>,
  batch: AlertBatch,
): Promise<Destination[]> {
  const record: Destination = {
    id: RECORD,
    queue: batch.monitorId,
    count: batch.events.length,
    requests: [{ id: '', send: () => alerts.record(id, batch.events) }],
  };
  const notifying = batch.events.filter(({ isTold, kind }) => isTold && kind !== 'updated');
  if (notifying.length === 0) return [record];
  const [allChannels, allGroups] = await Promise.all([channels.list(id), groups.list(id)]);
  const origin = { organization: name, externalUrl };
  const destinations = allChannels.flatMap((channel): Destination[] => {
    const events = notifying.filter((event) => channelsFor(event, allGroups).has(channel.id));
    const requests = requestsTo(channel, events, { post, mail }, origin);
    if (events.length === 0 || requests.length === 0) return [];
    return [{ id: channel.id, queue: `${channel.id} ${batch.monitorId}`, count: events.length, requests }];
  });
  return [record, ...destinations];
}

/**
 * Returns the requests that deliver events to a channel. Returns none for a channel that receives nothing: it
 * is suspended, has a type that is only stored, has no address to send to, or is not for alerts.
 */
function requestsTo(
  channel: Channel,
  events: readonly AlertEvent[],
  { post, mail }: Pick<DestinationStores, 'post' | 'mail'>,
  origin: Parameters<typeof channelWebhookBody>[1],
): readonly DestinationRequest[] {
  if (channel.suspendedAt != null) return [];
  if ('events' in channel && channel.events != null && !channel.events.includes('alert')) return [];
  switch (channel.type) {
    case 'webhook':
      return events.map((event) => ({
        id: event.id,
        send: () => post({ url: channel.url, json: channelWebhookBody(event, origin) }),
      }));
    case 'slack': {
      const send = () => post({ url: channel.url, json: channelSlackBody(events, channel.mentions, origin) });
      return [{ id: '', send }];
    }
    case 'email': {
      const emails = channel.emails ?? [];
      if (mail === undefined || emails.length === 0) return [];
      return [{ id: '', send: () => mail(mailMessage(events, emails, origin)) }];
    }
    default:
      return [];
  }
}

/**
 * Returns the ids of the channels that receive an event. A group receives it if it is the default group, or
 * if it names the event's monitor or one of its services. But if any group names the monitor with
 * `skipDefault`, only the groups that do so receive it. A group that receives an event passes it on to its child
 * groups.
 */
export function channelsFor(event: AlertEvent, groups: readonly NotificationGroup[]): Set<string> {
  const { monitorId, services } = event.subject;
  const byId = new Map(groups.map((group) => [group.id, group]));
  const own = groups.filter(({ type }) => type === 'group');
  const exclusive = own.filter(({ monitors }) =>
    (monitors ?? []).some(({ id, skipDefault }) => id === monitorId && skipDefault === true),
  );
  const chosen =
    exclusive.length > 0
      ? exclusive
      : groups.filter(
          ({ type, monitors, services: wanted }) =>
            type === 'group-default' ||
            (monitors ?? []).some(({ id }) => id === monitorId) ||
            (wanted ?? []).some(({ name }) => services.includes(name)),
        );
  const found = new Set<string>();
  const visited = new Set<string>();
  const visit = (group: NotificationGroup | undefined) => {
    if (group === undefined || visited.has(group.id) || !isLoudEnough(event, group)) return;
    visited.add(group.id);
    for (const id of group.childChannelIds ?? []) found.add(id);
    for (const id of group.childNotificationGroupIds ?? []) visit(byId.get(id));
  };
  for (const group of chosen) visit(group);
  return found;
}

/**
 * Returns whether a group's notification level lets an event through. The level `critical` lets through
 * CRITICAL and UNKNOWN, and the end of any alert that has been either of these.
 */
function isLoudEnough({ status, alert }: AlertEvent, { notificationLevel }: NotificationGroup): boolean {
  if (notificationLevel === 'all') return true;
  return status === 'OK' ? alert.wasCritical : status !== 'WARNING';
}
