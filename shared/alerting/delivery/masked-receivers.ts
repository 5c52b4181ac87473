import { RefusedError } from '../../registry/refused';
import type { Receiver, Receivers } from './receivers';

/** Replaces a secret in responses. In a request, it means that the stored secret is kept. */
const MASK = '***';

/** Hides the secrets of receivers. */
export function masked({ alertmanagers, webhooks, slack, topics }: Receivers): Receivers {
  return {
    alertmanagers: alertmanagers.map(maskedReceiver),
    webhooks: webhooks.map(maskedReceiver),
    slack: slack.map((each) => ({ ...each, url: maskedUrl(each.url) })),
    topics,
  };
}

/**
 * Replaces the masks in a request with the stored secrets. An authorization is taken only from a receiver with the same
 * URL, so that no secret is sent elsewhere.
 *
 * @throws {RefusedError} when a URL contains the mask but matches no stored receiver's masked URL
 */
export function unmasked(requested: Receivers, stored: Receivers): Receivers {
  const completed = <T extends Receiver>(each: T, known: readonly T[]): T => {
    const { authorization, ...rest } = each;
    if (authorization !== MASK) return each;
    const secret = known.find(({ url }) => url === each.url)?.authorization;
    return { ...rest, ...(secret !== undefined && { authorization: secret }) } as T;
  };
  const receivers = {
    alertmanagers: requested.alertmanagers.map((each) => completed(each, stored.alertmanagers)),
    webhooks: requested.webhooks.map((each) => completed(each, stored.webhooks)),
    slack: requested.slack.map((each) => ({
      ...each,
      url: stored.slack.find((known) => maskedUrl(known.url) === each.url)?.url ?? each.url,
    })),
    topics: requested.topics,
  };
  for (const { field, url } of urlsOf(receivers))
    if (url.includes(MASK))
      throw new RefusedError(`${field}: no stored URL matches ${JSON.stringify(url)}; give the whole URL`);
  return receivers;
}

/** Lists the URLs of receivers, each with its field in a request. */
export function urlsOf(receivers: Receivers): { readonly field: string; readonly url: string }[] {
  return (['alertmanagers', 'webhooks', 'slack'] as const).flatMap((kind) =>
    receivers[kind].map(({ url }, i) => ({ field: `${kind}.${i}.url`, url })),
  );
}

function maskedReceiver<T extends Receiver>(each: T): T {
  return each.authorization === undefined ? each : { ...each, authorization: MASK };
}

/** Hides the path of a Slack URL, which is secret. The last four characters stay, to tell URLs apart. */
function maskedUrl(text: string): string {
  return `${new URL(text).origin}/${MASK}${text.slice(-4)}`;
}
