import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { HttpError, reply } from '../../shared/http/http';
import { count } from '../../shared/platform/function-metrics';
import type { DroppedLines } from '../../shared/protocol/influx/lines';
import type { DropReason } from '../../shared/protocol/mackerel/json';
import { timeBoundText } from '../../shared/protocol/protocol';

/**
 * Counts the samples of a post to Mackerel's API. Answers 200. If samples were dropped, the response says how many, by
 * reason.
 *
 * @param samples number of valid samples in the request
 * @param overLimit number of these samples that were dropped because of the tenant's series limit
 * @param dropped numbers of samples that were dropped earlier, by reason
 * @param hint the probable cause of the dropped samples
 */
export function respondToSamples(
  samples: number,
  overLimit: number,
  dropped: ReadonlyMap<DropReason, number>,
  hint: string | undefined,
): APIGatewayProxyStructuredResultV2 {
  const reasons = new Map(dropped);
  if (overLimit > 0) reasons.set('seriesLimit', overLimit);
  count('post', {
    SamplesAccepted: samples - overLimit,
    SamplesDropped: [...reasons.values()].reduce((a, b) => a + b, 0),
  });
  if (reasons.size === 0) return reply(200, { success: true });
  return reply(200, { success: true, dropped: Object.fromEntries(reasons), ...(hint && { hint }) });
}

/** Builds the body of the response to invalid lines, in the format of InfluxDB 1, 2 or 3. */
export type LineError = (refused: { readonly message: string } & Pick<DroppedLines, 'problems'>) => unknown;

/**
 * Counts the samples of a post in line protocol. Answers 204, or 400 with the reasons if samples were dropped. String
 * fields are never stored, but do not cause a 400.
 */
export function respondToLines(
  samples: number,
  overLimit: number,
  { strings, problems, badLines, tooOld, tooNew, hint }: DroppedLines,
  maxAgeMs: number,
  error: LineError,
): APIGatewayProxyStructuredResultV2 {
  count('post', {
    SamplesAccepted: samples - overLimit,
    SamplesDropped: tooOld + tooNew + overLimit,
    StringsDropped: strings,
    LinesRefused: badLines,
  });
  const outOfTime = tooOld + tooNew;
  if (badLines === 0 && outOfTime === 0 && overLimit === 0) return { statusCode: 204 };
  const reasons = problems.map(({ line, reason }) => `unable to parse line ${line}: ${reason}`);
  if (badLines > problems.length) reasons.push(`and ${badLines - problems.length} more lines`);
  if (tooOld > 0) reasons.push(`${tooOld} points ${timeBoundText('tooOld', maxAgeMs)} dropped`);
  if (tooNew > 0) reasons.push(`${tooNew} points ${timeBoundText('tooNew', maxAgeMs)} dropped`);
  if (hint !== undefined) reasons.push(hint);
  if (overLimit > 0) reasons.push(`max-series limit exceeded dropped=${overLimit}`);
  // Use InfluxDB's wording. If a message has `partial write` or `unable to parse`, Telegraf drops the batch and
  // continues.
  const isPartial = samples > overLimit || outOfTime > 0;
  const message = `${isPartial ? 'partial write: ' : ''}${reasons.join('; ')}`;
  return reply(400, error({ message, problems }));
}

export function tooManyHosts(): HttpError {
  return new HttpError(400, 'hostId: more hosts than one request may have; send fewer at a time');
}

export function unknownHosts(hosts: number): HttpError {
  return new HttpError(404, `no host of the ${hosts} in the request is known`);
}

export function unknownService(service: string): HttpError {
  return new HttpError(404, `there is no service ${JSON.stringify(service.slice(0, 100))}`);
}
