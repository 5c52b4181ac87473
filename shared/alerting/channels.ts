import { parseDuration } from '../model/duration';
import type { Labels } from '../model/labels';
import { seriesTest } from '../model/matcher';
import { parseLabelMatcher } from './label-matcher';
import type { Notification } from './notification';
import type { ChannelOptions, Receivers } from './receivers';

/** A receiver that is told of changes, and again of what goes on; Alertmanagers are told everything all the time. */
export interface Channel {
  readonly kind: 'webhook' | 'slack' | 'topic';
  /** A URL; of a topic its ARN. */
  readonly address: string;
  readonly authorization?: string;
  /** How long after it was told of an alert the channel is told again, ms. */
  readonly repeatMs: number;
  /** Whether the channel is told of an alert with these labels. */
  readonly isWanted: (labels: Labels) => boolean;
}

/** An Alertmanager's default. */
const DEFAULT_REPEAT = '4h';

export function channelsOf({ webhooks, slack, topics }: Receivers): Channel[] {
  return [
    ...webhooks.map(({ url, authorization, ...options }) => ({
      ...{ kind: 'webhook' as const, address: url },
      ...(authorization !== undefined && { authorization }),
      ...optionsOf(options),
    })),
    ...slack.map(({ url, ...options }) => ({ kind: 'slack' as const, address: url, ...optionsOf(options) })),
    ...topics.map(({ topicArn, ...options }) => ({
      ...{ kind: 'topic' as const, address: topicArn },
      ...optionsOf(options),
    })),
  ];
}

function optionsOf({ match = [], repeatInterval = DEFAULT_REPEAT }: ChannelOptions) {
  return {
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
