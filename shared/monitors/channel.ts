import * as z from 'zod';
import { text } from '../platform/fields';
import { httpUrl, name } from './fields';

/** Types of channels to which notifications are sent. */
const SENT_CHANNEL_TYPES = ['email', 'slack', 'webhook'] as const;
/** Types of channels that are stored by name only. Nothing is sent to them. */
export const KEPT_CHANNEL_TYPES = [
  'email-broadcast',
  'chatwork',
  'twilio',
  'pagerduty',
  'opsgenie',
  'jira-service-management',
  'microsoft-teams',
  'amazon-event-bridge',
  'line',
] as const;

const CHANNEL_EVENTS = [
  'alert',
  'alertGroup',
  'hostStatus',
  'hostRegister',
  'hostRetire',
  'monitor',
] as const;

const MAX_MENTION = 1_000;
const MAX_EMAILS = 100;

const events = z.array(z.enum(CHANNEL_EVENTS)).max(CHANNEL_EVENTS.length).nullish();
const enabledGraphImage = z.boolean().nullish();
const mention = text(0, MAX_MENTION).nullish();

const emailChannel = z.object({
  type: z.literal('email'),
  name,
  emails: z.array(z.email('expected an email address').max(254)).max(MAX_EMAILS).nullish(),
  userIds: z
    .array(z.string())
    .max(0, 'expected none: API keys belong to organizations, and this server has no users')
    .nullish(),
  events,
});

const slackChannel = z.object({
  type: z.literal('slack'),
  name,
  url: httpUrl,
  mentions: z.object({ ok: mention, warning: mention, critical: mention }).nullish(),
  enabledGraphImage,
  events,
});

const webhookChannel = z.object({
  type: z.literal('webhook'),
  name,
  url: httpUrl,
  enabledGraphImage,
  events,
});

const keptChannel = z.object({ type: z.enum(KEPT_CHANNEL_TYPES), name });

export const channelSpec = z.discriminatedUnion(
  'type',
  [emailChannel, slackChannel, webhookChannel, keptChannel],
  {
    error: ({ code }) =>
      code === 'invalid_union'
        ? `expected one of ${[...SENT_CHANNEL_TYPES, ...KEPT_CHANNEL_TYPES].join(', ')}`
        : undefined,
  },
);
export type ChannelSpec = z.output<typeof channelSpec>;

export type Channel = ChannelSpec & {
  readonly id: string;
  /** Unix time in seconds; null or absent unless notifications are suspended. */
  readonly suspendedAt?: number | null;
};

export type ChannelOf<T extends Channel['type']> = Extract<Channel, { type: T }>;
