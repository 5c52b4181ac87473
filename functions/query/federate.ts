import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { type ExposedSample, exposition } from '../../shared/http/exposition';
import { HttpError, replyPlain } from '../../shared/http/http';
import { labelsKey } from '../../shared/model/labels';
import { staleMarkers } from '../../shared/model/sample-columns';
import type { MatcherSet } from '../../shared/query/browse';
import type { Tenant } from '../../shared/tenancy/tenants';
import { queriesOf } from './stores';

/** Maximum age of a series' newest sample, in ms; the same as for an instant query. */
const LOOKBACK_MS = 300_000;

/**
 * Returns the newest sample of each selected series with its time, for another Prometheus to scrape. Series
 * that ended with a stale marker are omitted.
 *
 * @see https://prometheus.io/docs/prometheus/latest/federation/
 */
export async function federate(
  tenant: Tenant,
  selectors: readonly MatcherSet[],
  accept: string | undefined,
): Promise<APIGatewayProxyStructuredResultV2> {
  const nowMs = Date.now();
  const { store } = queriesOf(tenant).begin();
  const newest = new Map<string, ExposedSample>();
  for (const matchers of selectors) {
    const { series, warnings } = await store.select(matchers, {
      fromMs: nowMs - LOOKBACK_MS,
      toMs: nowMs + 1,
    });
    // Fail if samples may be missing, because the format cannot express a warning.
    if (warnings.length > 0) throw new HttpError(503, warnings[0]!, { 'retry-after': '10' });
    for (const { labels, timestamps, values } of series) {
      const last = timestamps.length - 1;
      if (last < 0 || staleMarkers(values)?.[last] === 1) continue;
      newest.set(labelsKey(labels), { labels, timestampMs: timestamps[last]!, value: values[last]! });
    }
  }
  const escaping = /escaping=allow-utf-8/.test(accept ?? '') ? 'allow-utf-8' : 'underscores';
  return replyPlain(
    exposition([...newest.values()], escaping),
    `text/plain; version=0.0.4; charset=utf-8; escaping=${escaping}`,
  );
}
