import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { bodyText } from '../../shared/http/http';
import type { Precision } from '../../shared/protocol/influx/line-reader';
import { influxLines } from '../../shared/protocol/influx/lines';
import { likelyUnit } from '../../shared/protocol/timestamp-unit';
import type { Tenant } from '../../shared/tenancy/tenants';
import { type LineError, respondToLines } from './responses';
import type { WriteContext } from './write-context';

/** Number of characters at the start of a body in which {@link precisionOf} looks for a timestamp. */
const MAX_SEARCHED = 65_536;

/** Guesses the unit of timestamps from the first one, as InfluxDB 3 does. Returns ns if there is none. */
function precisionOf(body: Buffer): Precision {
  const first = /^[^#\n].* (\d{1,19})\s*$/m.exec(body.toString('latin1', 0, MAX_SEARCHED))?.[1];
  return (first === undefined ? undefined : likelyUnit(Number(first))?.precision) ?? 'ns';
}

/**
 * Handles a request in line protocol. Like InfluxDB, it writes the valid lines even if other lines are invalid, and then
 * reports the invalid ones.
 *
 * @param precision unit of the timestamps
 * @param error builds the body of the response to invalid lines
 */
export async function handleLines(
  event: APIGatewayProxyEventV2,
  tenant: Tenant,
  precision: Precision | 'auto',
  { writer, dictionary, accepts, maxBytes, charge }: WriteContext,
  error: LineError,
) {
  const body = Buffer.from(bodyText(event, maxBytes, (bytes) => charge.body(bytes)));
  const { sources, samples, dropped } = influxLines.parse(dictionary, body, accepts, {
    precision: precision === 'auto' ? precisionOf(body) : precision,
  });
  charge.samples(samples + dropped.strings + dropped.badLines + dropped.tooOld + dropped.tooNew);
  const overLimit = await writer.write(tenant, sources, samples);
  return respondToLines(samples, overLimit, dropped, accepts.maxAgeMs, error);
}
