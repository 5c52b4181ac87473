import { parseDuration } from '../../model/duration';
import { type Id, idOf } from '../../model/id';
import { parseLabelMatcher } from '../../model/label-matcher';
import type { Labels } from '../../model/labels';
import { seriesTest } from '../../model/matcher';
import type { Table } from '../../platform/table';
import { Documents } from '../../registry/documents';
import type { Notification } from '../tasks/notification';

/** A URL to which notifications are sent. */
export interface Receiver {
  /** An https URL without credentials. */
  readonly url: string;
  /** The header `authorization` of requests, such as `Bearer ...`. */
  readonly authorization?: string;
}

/** Which alerts a receiver is notified of, and how often it is notified again of an alert that keeps firing. */
interface ReceiverOptions {
  /**
   * Matchers that an alert's labels must all satisfy, such as `severity="page"`.
   *
   * @default every alert
   */
  readonly match?: readonly string[];
  /**
   * Interval between repeated notifications of an alert that keeps firing, as a duration.
   *
   * @default 4h
   */
  readonly repeatInterval?: string;
}

export interface Receivers {
  /** Alertmanagers. Each receives all alerts, at its URL with `/api/v2/alerts` appended. */
  readonly alertmanagers: readonly Receiver[];
  /** Webhooks that receive bodies in Alertmanager's format, version 4. */
  readonly webhooks: readonly (Receiver & ReceiverOptions)[];
  /** Webhooks that accept Slack's messages. Their URLs are secrets. */
  readonly slack: readonly ({ readonly url: string } & ReceiverOptions)[];
  /** SNS topics. */
  readonly topics: readonly ({ readonly topicArn: string } & ReceiverOptions)[];
}

export const NO_RECEIVERS: Receivers = { alertmanagers: [], webhooks: [], slack: [], topics: [] };

const KEY = 'all';

/** Stores tenants' receivers, in one document each. */
export class ReceiverStore {
  private readonly receivers: Documents<Partial<Receivers>>;

  constructor(table: Table) {
    this.receivers = new Documents(table, 'receivers');
  }

  async get(tenantId: Id): Promise<Receivers> {
    // A stored document may lack some kinds of receivers. Use empty lists for those.
    return { ...NO_RECEIVERS, ...(await this.receivers.get(tenantId, KEY)) };
  }

  async put(tenantId: Id, receivers: Receivers): Promise<void> {
    await this.receivers.createOrChange(tenantId, KEY, () => receivers);
  }
}

/**
 * A receiver that is notified of changes, and periodically of alerts that keep firing. An Alertmanager is not
 * a ChangeReceiver: it receives all firing alerts every minute.
 */
export interface ChangeReceiver {
  /** Identifies the receiver within its tenant; a hash of its address and options. */
  readonly id: Id;
  readonly kind: 'webhook' | 'slack' | 'topic';
  /** URL, or a topic's ARN. */
  readonly address: string;
  readonly authorization?: string;
  /** Interval between repeated notifications of an alert that keeps firing, in ms. */
  readonly repeatMs: number;
  /** Returns whether the receiver wants alerts with these labels. */
  readonly isWanted: (labels: Labels) => boolean;
}

/** Default interval between repeated notifications, the same as an Alertmanager's. */
const DEFAULT_REPEAT = '4h';

export function changeReceiversOf({ webhooks, slack, topics }: Receivers): ChangeReceiver[] {
  return [
    ...webhooks.map(({ url, ...options }) => changeReceiverOf('webhook', url, options)),
    ...slack.map(({ url, ...options }) => changeReceiverOf('slack', url, options)),
    ...topics.map(({ topicArn, ...options }) => changeReceiverOf('topic', topicArn, options)),
  ];
}

function changeReceiverOf(
  kind: ChangeReceiver['kind'],
  address: string,
  {
    authorization,
    match = [],
    repeatInterval = DEFAULT_REPEAT,
  }: ReceiverOptions & Pick<Receiver, 'authorization'>,
): ChangeReceiver {
  return {
    id: idOf('channel', kind, address, authorization ?? '', JSON.stringify(match), repeatInterval),
    kind,
    address,
    ...(authorization !== undefined && { authorization }),
    repeatMs: parseDuration(repeatInterval)!,
    isWanted: seriesTest(match.map(parseLabelMatcher)),
  };
}

/** Selects the notifications of a batch to send to a receiver. */
export function notificationsFor(
  { repeatMs, isWanted }: ChangeReceiver,
  notifications: readonly Notification[],
): readonly Notification[] {
  return notifications.filter(
    ({ labels, repeatsMs }) => (repeatsMs === undefined || repeatsMs.includes(repeatMs)) && isWanted(labels),
  );
}
