import type * as z from 'zod';
import type { Alert } from '../../shared/alerting/delivery/alert';
import { FIRING_MS } from '../../shared/alerting/delivery/receiver-bodies';
import { type Silence, silenceState, silenceTest } from '../../shared/alerting/delivery/silences';
import type { alertsQuery } from '../../shared/http/contract/silences';
import type { RouteHandlers } from '../../shared/http/handler';
import { HttpError, reply, requireFound } from '../../shared/http/http';
import { idOf } from '../../shared/model/id';
import { MatcherError, parseLabelMatcher } from '../../shared/model/label-matcher';
import { type Labels, labelsKey, labelsOf } from '../../shared/model/labels';
import { seriesTest } from '../../shared/model/matcher';
import { InvalidPatternError } from '../../shared/model/value-pattern';
import type { Tenant } from '../../shared/tenancy/tenants';
import { ruleStates, silences } from './stores';

/** The release of Alertmanager whose API this file implements. amtool compares the release with its own version. */
const VERSION = { version: '0.34.0', revision: '', branch: '', buildUser: '', buildDate: '', goVersion: '' };

const startedAt = new Date().toISOString();

/** Silences in Alertmanager's API. */
export const silenceHandlers: RouteHandlers = {
  'GET /alertmanager/api/v2/status': async () =>
    reply(200, {
      cluster: { status: 'disabled', peers: [] },
      versionInfo: VERSION,
      config: { original: '' },
      uptime: startedAt,
    }),

  'GET /alertmanager/api/v2/alerts': async ({ tenant, query }) => reply(200, await alertsOf(tenant, query)),

  'GET /alertmanager/api/v2/silences': async ({ tenant, query }) => {
    const isWanted = filterTest(query.filter);
    const nowMs = Date.now();
    const wanted = (await silences.list(tenant.id)).filter(({ matchers }) =>
      isWanted(labelsOf(...new Map(matchers.map(({ name, value }) => [name, value])))),
    );
    return reply(
      200,
      wanted.map((each) => silenceView(each, nowMs)),
    );
  },

  'POST /alertmanager/api/v2/silences': async ({ tenant, body: { id, startsAt, endsAt, ...rest } }) => {
    const request = { ...rest, startsAtMs: Date.parse(startsAt), endsAtMs: Date.parse(endsAt) };
    const silenceID = await silences.put(tenant.id, id || undefined, request);
    return reply(200, { silenceID: requireFound('silence', id ?? '', silenceID) });
  },

  'GET /alertmanager/api/v2/silence/{silenceId}': async ({ tenant, path: { silenceId } }) => {
    const all = await silences.list(tenant.id);
    const silence = all.find(({ id }) => id === silenceId);
    return reply(200, silenceView(requireFound('silence', silenceId, silence), Date.now()));
  },

  'DELETE /alertmanager/api/v2/silence/{silenceId}': async ({ tenant, path: { silenceId } }) => {
    requireFound('silence', silenceId, (await silences.expire(tenant.id, silenceId)) || undefined);
    return reply(200, {});
  },
};

function silenceView(silence: Silence, nowMs: number) {
  const { id, matchers, createdBy, comment } = silence;
  return {
    id,
    status: { state: silenceState(silence, nowMs) },
    updatedAt: timeText(silence.updatedAtMs),
    startsAt: timeText(silence.startsAtMs),
    endsAt: timeText(silence.endsAtMs),
    matchers,
    createdBy,
    comment,
  };
}

async function alertsOf(tenant: Tenant, { filter, active, silenced }: z.output<typeof alertsQuery>) {
  const isWanted = filterTest(filter);
  const [states, stored] = await Promise.all([ruleStates.list(tenant.id), silences.list(tenant.id)]);
  const silencedBy = silenceTest(stored, Date.now());
  return [...states.values()].flatMap(({ rules, evaluatedMs }) =>
    rules
      .flatMap(({ alerts }) => alerts)
      .filter(({ state, labels }) => state === 'firing' && isWanted(labels))
      .map((alert) => alertView(alert, evaluatedMs, silencedBy(alert.labels)))
      .filter(({ status }) => (status.state === 'active' ? active : silenced)),
  );
}

function alertView(
  { labels, annotations, firedAtMs }: Alert,
  evaluatedMs: number,
  silencedBy: readonly string[],
) {
  return {
    labels: Object.fromEntries(labels),
    annotations: Object.fromEntries(annotations),
    fingerprint: idOf('alert', labelsKey(labels)),
    receivers: [{ name: 'default' }],
    startsAt: timeText(firedAtMs!),
    updatedAt: timeText(evaluatedMs),
    endsAt: timeText(evaluatedMs + FIRING_MS),
    status: { state: silencedBy.length === 0 ? 'active' : 'suppressed', silencedBy, inhibitedBy: [] },
  };
}

/**
 * Returns a function that tests labels against the matchers in a request's filter.
 *
 * @throws {HttpError} 400
 */
function filterTest(texts: readonly string[] = []): (labels: Labels) => boolean {
  try {
    return seriesTest(texts.map(parseLabelMatcher));
  } catch (error) {
    if (error instanceof MatcherError || error instanceof InvalidPatternError)
      throw new HttpError(400, `filter: ${error.message}`);
    throw error;
  }
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
