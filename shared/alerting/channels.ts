import { parseDuration } from '../model/duration';
import { type Id, idOf } from '../model/id';
import type { Labels } from '../model/labels';
import { seriesTest } from '../model/matcher';
import { parseLabelMatcher } from './label-matcher';
import type { Notification } from './notification';
import type { ChannelOptions, Receiver, Receivers } from './receivers';

/**
 * A receiver that is notified of changes and periodically of alerts that keep firing. Alertmanagers are not
 * channels: they get all firing alerts every minute.
 */
export interface Channel {
  /** Identifies the channel within its tenant; a hash of its address and options. */
  readonly id: Id;
  readonly kind: 'webhook' | 'slack' | 'topic';
  /** URL, or a topic's ARN. */
  readonly address: string;
  readonly authorization?: string;
  /** Interval between repeated notifications of an alert that keeps firing, in ms. */
  readonly repeatMs: number;
  /** Returns whether the channel wants alerts with these labels. */
  readonly isWanted: (labels: Labels) => boolean;
}

/** Default interval between repeated notifications; an Alertmanager has the same. */
const DEFAULT_REPEAT = '4h';

export function channelsOf({ webhooks, slack, topics }: Receivers): Channel[] {
  return [
    ...webhooks.map(({ url, ...options }) => channelOf('webhook', url, options)),
    ...slack.map(({ url, ...options }) => channelOf('slack', url, options)),
    ...topics.map(({ topicArn, ...options }) => channelOf('topic', topicArn, options)),
  ];
}

function channelOf(
  kind: Channel['kind'],
  address: string,
  {
    authorization,
    match = [],
    repeatInterval = DEFAULT_REPEAT,
  }: ChannelOptions & Pick<Receiver, 'authorization'>,
): Channel {
  return {
    id: idOf('channel', kind, address, authorization ?? '', JSON.stringify(match), repeatInterval),
    ...{ kind, address },
    ...(authorization !== undefined && { authorization }),
    repeatMs: parseDuration(repeatInterval)!,
    isWanted: seriesTest(match.map(parseLabelMatcher)),
  };
}

/** The notifications of a batch that are for a channel. */
export function notificationsFor(
  { repeatMs, isWanted }: Channel,
  notifications: readonly Notification[],
): readonly Notification[] {
  return notifications.filter(
    ({ labels, repeatsMs }) => (repeatsMs === undefined || repeatsMs.includes(repeatMs)) && isWanted(labels),
  );
}
