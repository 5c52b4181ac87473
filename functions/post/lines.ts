import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { bodyText } from '../../shared/http/http';
import type { Precision } from '../../shared/protocol/influx/line-reader';
import { influxLines } from '../../shared/protocol/influx/lines';
import { likelyUnit } from '../../shared/protocol/timestamp-unit';
import type { Tenant } from '../../shared/tenancy/tenants';
import { answerLines, type LineError } from './answers';
import type { Taking } from './taking';

/** The first timestamp is searched in this many characters of a body. */
const MAX_LOOKED_AT = 65_536;

/** Guesses the unit of the first line's timestamp, as InfluxDB 3 does; ns if no line has a timestamp. */
function precisionOf(body: Buffer): Precision {
  const first = /^[^#\n].* (\d{1,19})\s*$/m.exec(body.toString('latin1', 0, MAX_LOOKED_AT))?.[1];
  return (first === undefined ? undefined : likelyUnit(Number(first))?.precision) ?? 'ns';
}

/**
 * Takes line protocol. Like InfluxDB, writes the valid lines even if others are invalid, and then reports
 * those.
 */
export async function takeLines(
  event: APIGatewayProxyEventV2,
  tenant: Tenant,
  precision: Precision | 'auto',
  { writer, dictionary, accepts, maxBytes, charge }: Taking,
  error: LineError,
) {
  const body = Buffer.from(bodyText(event, maxBytes, (bytes) => charge.body(bytes)));
  const { sources, samples, dropped } = influxLines.parse(dictionary, body, accepts, {
    precision: precision === 'auto' ? precisionOf(body) : precision,
  });
  charge.samples(samples + dropped.strings + dropped.badLines + dropped.tooOld + dropped.tooNew);
  const beyond = await writer.write(tenant, sources, samples);
  return answerLines(samples, beyond, dropped, accepts.maxAgeMs, error);
}
