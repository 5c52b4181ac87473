import { parseDuration } from '../model/duration';
import { type Id, idOf } from '../model/id';
import type { Labels } from '../model/labels';
import { seriesTest } from '../model/matcher';
import { parseLabelMatcher } from './label-matcher';
import type { Notification } from './notification';
import type { ChannelOptions, Receiver, Receivers } from './receivers';

/** A receiver that is told of changes, and again of what goes on; Alertmanagers are told everything all the time. */
export interface Channel {
  /** Names the channel among those of its tenant, by its address and options. */
  readonly id: Id;
  readonly kind: 'webhook' | 'slack' | 'topic';
  /** A URL; of a topic its ARN. */
  readonly address: string;
  readonly authorization?: string;
  /** The channel is told again each time that an alert has fired for a multiple of this, ms. */
  readonly repeatMs: number;
  /** Whether the channel is told of an alert with these labels. */
  readonly isWanted: (labels: Labels) => boolean;
}

/** An Alertmanager's default. */
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
