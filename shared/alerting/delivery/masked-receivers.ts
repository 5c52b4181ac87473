import { RefusedError } from '../../registry/refused';
import type { Receiver, Receivers } from './receivers';

/** Replaces a secret in responses. In a request, it means that the stored secret is kept. */
const MASK = '***';

/** Hides the secrets of receivers. */
export function masked({ alertmanagers, webhooks, slack, topics }: Receivers): Receivers {
  return {
    alertmanagers: alertmanagers.map(maskedReceiver),
    webhooks: webhooks.map(maskedReceiver),
    slack: slack.map(maskedSlack),
    topics,
  };
}

/**
 * Replaces the masks in a request with the stored secrets. An authorization is taken only from a receiver with the same
 * URL, so that no secret is sent elsewhere.
 *
 * @throws {RefusedError} when a URL contains the mask but matches no stored receiver's masked URL, or when it is not
 *   clear which of several stored secrets a mask stands for
 */
export function unmasked(requested: Receivers, stored: Receivers): Receivers {
  const completed = <T extends Receiver>(kind: 'alertmanagers' | 'webhooks', known: readonly T[]) => {
    const secretOf = secrets<Receiver>(
      requested[kind],
      known,
      ({ authorization }) => authorization,
      maskedReceiver,
    );
    return (each: T, i: number): T => {
      const { authorization, ...rest } = each;
      if (authorization !== MASK) return each;
      const secret = secretOf(each, ({ url }) => url === each.url, `${kind}.${i}.authorization`);
      return { ...rest, ...(secret !== undefined && { authorization: secret }) } as T;
    };
  };
  const urlOf = secrets(requested.slack, stored.slack, ({ url }) => url, maskedSlack);
  const receivers = {
    alertmanagers: requested.alertmanagers.map(completed('alertmanagers', stored.alertmanagers)),
    webhooks: requested.webhooks.map(completed('webhooks', stored.webhooks)),
    slack: requested.slack.map((each, i) => ({
      ...each,
      url: urlOf(each, ({ url }) => maskedUrl(url) === each.url, `slack.${i}.url`) ?? each.url,
    })),
    topics: requested.topics,
  };
  for (const { field, url } of urlsOf(receivers))
    if (url.includes(MASK))
      throw new RefusedError(`${field}: no stored URL matches ${JSON.stringify(url)}; give the whole URL`);
  return receivers;
}

/**
 * Returns a function that finds the secret that a mask stands for. Several stored receivers may have the same URL. Those
 * that look exactly like the requested one once they are masked come first. If the request has as many of these as are
 * stored, they are in the same order.
 */
function secrets<T extends object>(
  requested: readonly T[],
  known: readonly T[],
  secretIn: (stored: T) => string | undefined,
  maskedOf: (stored: T) => T,
): (each: T, isCandidate: (stored: T) => boolean, field: string) => string | undefined {
  const asked = Map.groupBy(requested, formOf);
  const stored = Map.groupBy(known, (each) => formOf(maskedOf(each)));
  return (each, isCandidate, field) => {
    const same = stored.get(formOf(each)) ?? [];
    const twins = asked.get(formOf(each))!;
    const own = same.length === twins.length ? [same[twins.indexOf(each)]!] : same;
    const candidates = own.length > 0 ? own : known.filter(isCandidate);
    const found = new Set(candidates.map(secretIn).filter((secret) => secret !== undefined));
    if (found.size > 1)
      throw new RefusedError(`${field}: ${MASK} may stand for several stored secrets; give the secret`);
    return [...found][0];
  };
}

/** Returns a text that is equal for receivers with equal fields, whatever the order of the fields. */
function formOf(receiver: object): string {
  return JSON.stringify(Object.entries(receiver).sort(([a], [b]) => (a < b ? -1 : 1)));
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

function maskedSlack<T extends { readonly url: string }>(each: T): T {
  return { ...each, url: maskedUrl(each.url) };
}

/** Hides the path of a Slack URL, which is secret. The last four characters stay, to tell URLs apart. */
function maskedUrl(text: string): string {
  return `${new URL(text).origin}/${MASK}${text.slice(-4)}`;
}
