import type { RouteHandlers } from '../../shared/http/handler';
import { prometheusResponse } from '../../shared/http/prometheus-response';
import { durationText } from '../../shared/model/duration';
import { cardinality } from '../../shared/query/browse';
import { storedTimes } from '../../shared/query/stored-times';
import { retentionOf, type Tenant } from '../../shared/tenancy/tenants';
import { dependencies, queriesOf, retentionMs } from './stores';

/**
 * The Prometheus release whose query language and API this server implements. Grafana uses it to decide which features
 * are available. The response has no field `features`: with that field, Grafana would take this server for Mimir and
 * use all of Mimir's API. Without it, Grafana lists rules but does not edit them.
 */
const BUILD = { version: '3.14.0', revision: '', branch: '', buildUser: '', buildDate: '', goVersion: '' };

/** Features of this server, by name, for clients that look them up. */
const FEATURES = {
  api: {
    admin: false,
    label_values_match: true,
    query_stats: true,
    query_warnings: true,
    remote_write_receiver: true,
    time_range_labels: true,
    time_range_series: true,
  },
};

const startedAt = new Date();

/** Default number of entries in each list of `status/tsdb`. */
const LISTED = 10;

const respond = (data: unknown) => prometheusResponse(JSON.stringify(data));

/**
 * Prometheus' endpoints about its own state. They are empty where this system has no equivalent, such as scrape
 * targets. `status/flags` is missing, because one version of Grafana takes any server that answers it for Thanos.
 */
export const prometheusStatusHandlers: RouteHandlers = {
  'GET /prometheus/api/v1/targets': async () =>
    respond({ activeTargets: [], droppedTargets: [], droppedTargetCounts: {} }),
  'GET /prometheus/api/v1/features': async () => respond(FEATURES),
  'GET /prometheus/api/v1/status/buildinfo': async () => respond(BUILD),
  'GET /prometheus/api/v1/status/runtimeinfo': async ({ tenant }) => respond(runtimeInfo(tenant)),
  'GET /prometheus/api/v1/status/config': async () => respond({ yaml: '' }),
  'GET /prometheus/api/v1/status/tsdb': async ({ tenant, query }) =>
    respond(await tsdbStatus(tenant, query.limit || LISTED)),
};

function runtimeInfo(tenant: Tenant) {
  return {
    startTime: startedAt,
    CWD: '/',
    hostname: '',
    serverTime: new Date(),
    reloadConfigSuccess: true,
    lastConfigTime: startedAt,
    corruptionCount: 0,
    goroutineCount: 0,
    GOMAXPROCS: 0,
    GOMEMLIMIT: 0,
    GOGC: '',
    GODEBUG: '',
    storageRetention: durationText(retentionOf(tenant, retentionMs)),
  };
}

async function tsdbStatus(tenant: Tenant, listed: number) {
  const nowMs = Date.now();
  const range = { fromMs: nowMs - retentionMs, toMs: nowMs + 1 };
  const found = await queriesOf(tenant).browse(range, (view) => cardinality(view, listed));
  const times = await storedTimes(dependencies.indexes, tenant.id, range);
  const list = (counts: readonly { readonly name: string; readonly count: number }[]) =>
    counts.map(({ name, count: value }) => ({ name, value }));
  return {
    headStats: {
      numSeries: found.series,
      numLabelPairs: found.labelPairs,
      chunkCount: 0,
      minTime: times?.firstMs ?? 0,
      maxTime: times?.lastMs ?? 0,
    },
    seriesCountByMetricName: list(found.seriesByName),
    labelValueCountByLabelName: list(found.valuesByLabel),
    memoryInBytesByLabelName: list(found.bytesByLabel),
    seriesCountByLabelValuePair: list(found.seriesByPair),
  };
}
