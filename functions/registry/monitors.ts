import type { RouteHandlers } from '../../shared/http/handler';
import { HttpError, reply, requireFound } from '../../shared/http/http';
import { randomId } from '../../shared/model/random-id';
import { checkMonitor } from '../../shared/monitors/check-monitor';
import type { DowntimeSpec } from '../../shared/monitors/downtime';
import {
  type Monitor,
  type MonitorSpec,
  sortedMonitors,
  updatedMonitor,
} from '../../shared/monitors/monitor';
import { monitorIntervalOf, taskKindOf } from '../../shared/monitors/monitor-state';
import { checkScopes } from '../../shared/monitors/references';
import type { Tenant } from '../../shared/tenancy/tenants';
import { downtimes, gatekeeper, monitors, requirePublicUrl, services, taskIndex } from './stores';

const MAX_DOWNTIMES = 500;

/** Mackerel's monitors and downtimes. */
export const monitorHandlers: RouteHandlers = {
  'GET /api/v0/monitors': async ({ tenant }) =>
    reply(200, { monitors: sortedMonitors(await monitors.list(tenant.id)) }),

  'POST /api/v0/monitors': async ({ tenant, body }) => {
    await check(tenant, body, undefined);
    const monitor = { ...body, id: randomId() };
    await index(tenant, monitor, 1);
    return reply(200, await monitors.create(tenant.id, monitor, gatekeeper.meter.limits(tenant).rules));
  },

  'GET /api/v0/monitors/{monitorId}': async ({ tenant, path: { monitorId } }) =>
    reply(200, { monitor: requireFound('monitor', monitorId, await monitors.get(tenant.id, monitorId)) }),

  'PUT /api/v0/monitors/{monitorId}': async ({ tenant, path: { monitorId }, body }) => {
    await check(tenant, body, monitorId);
    const changed = await monitors.change(tenant.id, monitorId, (stored) => {
      if (stored.type !== body.type)
        throw new HttpError(400, `type: the monitor is of type ${stored.type}, which cannot change`);
      return { id: stored.id, ...updatedMonitor(stored, body) };
    });
    return reply(200, requireFound('monitor', monitorId, changed));
  },

  'DELETE /api/v0/monitors/{monitorId}': async ({ tenant, path: { monitorId } }) => {
    const removed = requireFound('monitor', monitorId, await monitors.remove(tenant.id, monitorId));
    await index(tenant, removed, 0);
    return reply(200, removed);
  },

  'GET /api/v0/downtimes': async ({ tenant }) => reply(200, { downtimes: await downtimes.list(tenant.id) }),

  'POST /api/v0/downtimes': async ({ tenant, body }) => {
    await checkDowntime(tenant, body, undefined);
    return reply(200, await downtimes.create(tenant.id, body, MAX_DOWNTIMES));
  },

  'PUT /api/v0/downtimes/{downtimeId}': async ({ tenant, path: { downtimeId }, body }) => {
    await checkDowntime(tenant, body, downtimeId);
    const changed = await downtimes.change(tenant.id, downtimeId, ({ id }) => ({ id, ...body }));
    return reply(200, requireFound('downtime', downtimeId, changed));
  },

  'DELETE /api/v0/downtimes/{downtimeId}': async ({ tenant, path: { downtimeId } }) =>
    reply(200, requireFound('downtime', downtimeId, await downtimes.remove(tenant.id, downtimeId))),
};

/**
 * Puts a monitor into the index of tasks that the evaluator evaluates.
 *
 * @param rules number of rules in the task: 1, or 0 if the monitor was removed; the evaluator then closes the monitor's
 *   alerts
 */
async function index(tenant: Tenant, monitor: Monitor, rules: 0 | 1): Promise<void> {
  const intervalMs = monitorIntervalOf(monitor);
  if (intervalMs !== undefined)
    await taskIndex.put(tenant, taskKindOf(monitor), monitor.id, rules, intervalMs);
}

/**
 * Checks a monitor that a client posts.
 *
 * @param id id of the monitor that is being replaced; undefined for a new one
 */
async function check(tenant: Tenant, spec: MonitorSpec, id: string | undefined): Promise<void> {
  const [knownServices, stored] = await Promise.all([
    services.list(tenant.id),
    id === undefined ? undefined : monitors.get(tenant.id, id),
  ]);
  checkMonitor(spec, knownServices, Date.now(), stored);
  if (spec.type === 'external') requirePublicUrl('url', spec.url);
}

/**
 * Checks a downtime that a client posts.
 *
 * @param id id of the downtime that is being replaced; undefined for a new one
 */
async function checkDowntime(tenant: Tenant, spec: DowntimeSpec, id: string | undefined): Promise<void> {
  const [knownServices, knownMonitors, stored] = await Promise.all([
    services.list(tenant.id),
    monitors.list(tenant.id),
    id === undefined ? undefined : downtimes.get(tenant.id, id),
  ]);
  checkScopes(spec, { services: knownServices, monitors: knownMonitors }, stored);
}
