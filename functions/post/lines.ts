import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { bodyText } from '../../shared/http/http';
import type { Precision } from '../../shared/protocol/influx/line-reader';
import { influxLines } from '../../shared/protocol/influx/lines';
import type { Tenant } from '../../shared/tenancy/tenants';
import { answerLines, type LineError } from './answers';
import type { Taking } from './taking';

/** Takes line protocol: writes the good lines before the answer names the bad ones, as InfluxDB does. */
export async function takeLines(
  event: APIGatewayProxyEventV2,
  tenant: Tenant,
  precision: Precision,
  { writer, accepts, maxBytes }: Taking,
  error: LineError,
) {
  const body = Buffer.from(bodyText(event, maxBytes));
  const { sources, samples, dropped } = influxLines.parse(body, accepts, { precision });
  const beyond = await writer.write(tenant, sources, samples);
  return answerLines(samples, beyond, dropped, accepts.maxAgeMs, error);
}
