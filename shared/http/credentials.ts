import type { APIGatewayProxyEventV2 } from 'aws-lambda';

/**
 * Returns a request's API key; undefined if it has none. Clients send the key in different places:
 *
 *     X-Api-Key: key                        mackerel-agent, mkr
 *     Authorization: Bearer key             Prometheus, OpenTelemetry
 *     Authorization: Token key              InfluxDB 2
 *     Authorization: Basic user:key         the password is the key; any user name
 *     ?u=user&p=key                         InfluxDB 1; only on InfluxDB's own paths, because URLs end up in logs
 */
export function keyOf({ headers, rawPath, rawQueryString }: KeyedRequest): string | undefined {
  const sent = headers['x-api-key'];
  if (sent !== undefined) return sent;
  const [, scheme, value] = /^(Bearer|Token|Basic) +(\S+) *$/i.exec(headers.authorization ?? '') ?? [];
  if (value !== undefined) return /^basic$/i.test(scheme!) ? passwordOf(value) : value;
  if (!INFLUX_1_PATHS.has(rawPath)) return undefined;
  return new URLSearchParams(rawQueryString).get('p') ?? undefined;
}

type KeyedRequest = Pick<APIGatewayProxyEventV2, 'headers' | 'rawPath' | 'rawQueryString'>;

const INFLUX_1_PATHS: ReadonlySet<string> = new Set(['/write', '/query']);

/**
 * Returns the password of Basic credentials, which are `user:password` in base64; undefined if there is no
 * colon. The user name ends at the first colon.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7617
 */
function passwordOf(base64: string): string | undefined {
  const text = Buffer.from(base64, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? undefined : text.slice(colon + 1);
}
