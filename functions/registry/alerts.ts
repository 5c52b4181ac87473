import type { RouteHandlers } from '../../shared/http/handler';
import { HttpError, reply, requireFound } from '../../shared/http/http';
import { isGivenId } from '../../shared/model/random-id';
import { isLogOf } from '../../shared/monitors/alert-store';
import { closeAlert } from '../../shared/monitors/close-alert';
import { takeReports } from '../../shared/monitors/take-reports';
import { alerts, checks, closing, downtimes, hosts, monitorStates, requireHost, services } from './stores';

const MAX_MEMO_BYTES = 80 * 1024;

/** Alerts of monitors and checks. */
export const alertHandlers: RouteHandlers = {
  'GET /api/v0/alerts': async ({ tenant, query: { withClosed, nextId: after, limit } }) => {
    const options = { withClosed, limit, ...(after !== undefined && { after: requireNextId(after) }) };
    const { items, nextId } = await alerts.list(tenant.id, options);
    return reply(200, { alerts: items, ...(nextId !== undefined && { nextId }) });
  },

  'GET /api/v0/alerts/{alertId}': async ({ tenant, path: { alertId } }) =>
    reply(200, requireFound('alert', alertId, await alerts.get(tenant.id, alertId))),

  'PUT /api/v0/alerts/{alertId}': async ({ tenant, path: { alertId }, body }) => {
    const memo = body.memo ?? '';
    const bytes = Buffer.byteLength(memo);
    if (bytes > MAX_MEMO_BYTES)
      throw new HttpError(413, `memo: it has ${bytes} bytes; at most ${MAX_MEMO_BYTES} are allowed`);
    requireFound('alert', alertId, (await alerts.setMemo(tenant.id, alertId, memo)) || undefined);
    return reply(200, { id: alertId, memo });
  },

  'POST /api/v0/alerts/{alertId}/close': async ({ tenant, path: { alertId }, body: { reason } }) =>
    reply(200, requireFound('alert', alertId, await closeAlert(closing, tenant, alertId, reason))),

  'GET /api/v0/alerts/{alertId}/logs': async ({ tenant, path: { alertId }, query }) => {
    const { nextId: after, limit } = query;
    requireFound('alert', alertId, await alerts.get(tenant.id, alertId));
    if (after !== undefined && !(isGivenId(after) && isLogOf(after, alertId)))
      throw new HttpError(
        400,
        `nextId: ${JSON.stringify(after)} is not an entry of the log of alert ${alertId}`,
      );
    const options = { limit, ...(after !== undefined && { after }) };
    const { items, nextId } = await alerts.logsOf(tenant.id, alertId, options);
    return reply(200, { logs: items, ...(nextId !== undefined && { nextId }) });
  },

  'POST /api/v0/monitoring/checks/report': async ({ tenant, body: { reports } }) => {
    const stores = { alerts, checks, downtimes, hosts, services };
    await takeReports(stores, tenant, reports ?? [], Date.now());
    return reply(200, { success: true });
  },

  'GET /api/v0/monitoring/checks': async ({ tenant, query: { nextId: from, limit } }) => {
    const page: { id: string; name: string }[] = [];
    if (from !== undefined) {
      const first = await checks.get(tenant, requireNextId(from));
      if (first !== undefined) page.push({ id: first.id, name: first.name });
    }
    for await (const { value } of checks.list(tenant, from === undefined ? {} : { after: from })) {
      page.push({ id: value.id, name: value.name });
      if (page.length > limit) break;
    }
    const next = page[limit];
    return reply(200, { checks: page.slice(0, limit), ...(next && { nextId: next.id }) });
  },

  'GET /api/v0/monitoring/checks/{checkId}': async ({ tenant, path: { checkId } }) => {
    const check = isGivenId(checkId) ? await checks.get(tenant, checkId) : undefined;
    const { id, name } = requireFound('check', checkId, check);
    return reply(200, { check: { id, name } });
  },

  'GET /api/v0/hosts/{hostId}/monitored-statuses': async ({ tenant, path: { hostId } }) => {
    await requireHost(tenant, hostId);
    const states = await monitorStates.list(tenant.id);
    const ofMonitors = [...states.values()].flatMap(({ monitor, tracks }) =>
      tracks.flatMap(({ key, alert }) =>
        key === hostId && alert !== undefined ? [{ monitorId: monitor.id, status: alert.status }] : [],
      ),
    );
    const ofChecks = [];
    for await (const { value } of checks.list(tenant, { prefix: hostId })) {
      const { id, memo, last } = value;
      if (last === undefined) continue;
      ofChecks.push({
        monitorId: id,
        status: last.status,
        detail: { type: 'check', message: last.message, memo },
      });
    }
    return reply(200, { monitoredStatuses: [...ofMonitors, ...ofChecks] });
  },
};

function requireNextId(text: string): string {
  if (!isGivenId(text)) throw new HttpError(400, `nextId: ${JSON.stringify(text)} is not an id`);
  return text;
}
