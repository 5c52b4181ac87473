import type { TickCommit } from '../../../shared/alerting/tasks/evaluator-store';
import { decodeJson } from '../../../shared/alerting/tasks/task-states';
import type { AlertBatch } from '../../../shared/monitors/alert-event';
import { type ClosingStores, closeAlert } from '../../../shared/monitors/close-alert';
import type { MonitorSpec } from '../../../shared/monitors/monitor';
import type { MonitorState } from '../../../shared/monitors/monitor-state';
import type { OpenAlert } from '../../../shared/monitors/tracks';
import type { HostStatus } from '../../../shared/registry/hosts';
import type { Tenant } from '../../../shared/tenancy/tenants';

const tenant = { id: 't', name: 'acme' } as Tenant;
const host = { type: 'host', name: 'load', metric: 'loadavg5', operator: '>', critical: 5, duration: 1 };
const expression = { type: 'expression', name: 'sum', expression: 'host(h1, loadavg5)', operator: '>' };

/** Closes the only alert of a monitor. @returns the committed event */
async function closed(monitor: object, key: string, status: HostStatus, lost = 0) {
  const alert: OpenAlert = {
    id: 'a1',
    status: 'CRITICAL',
    wasCritical: true,
    openedAtMs: 1,
    changedAtMs: 1,
    notifiedAtMs: 1,
  };
  const state: MonitorState = {
    tickMs: 60_000,
    monitor: { ...(monitor as MonitorSpec), id: 'm1' },
    tracks: [{ key, attempts: 1, alert }],
    memory: {},
  };
  const commits: TickCommit[] = [];
  const stores = {
    alerts: { get: async () => ({ ...alert, monitorId: 'm1', type: 'host' }), record: async () => {} },
    monitorStates: { get: async () => state },
    evaluatorStore: { commit: async (tick: TickCommit) => commits.push(tick) > lost },
    hosts: { get: async (_: string, id: string) => (id === 'h1' ? { id, status, roleIds: [] } : undefined) },
    services: { list: async () => [] },
  } as unknown as ClosingStores;
  await closeAlert(stores, tenant, 'a1', 'seen');
  expect(commits).toHaveLength(lost + 1);
  const { batches, afterMs, tickMs } = commits.at(-1)!;
  expect({ afterMs, tickMs }).toEqual({ afterMs: 60_000, tickMs: 60_001 });
  const [event] = (decodeJson(batches[0]!) as AlertBatch).events;
  return event!;
}

test.each([
  { name: 'of a working host is told', monitor: host, status: 'working', isTold: true },
  { name: 'of a standby host is told nobody', monitor: host, status: 'standby', isTold: false },
  {
    name: 'of a muted monitor is told nobody',
    monitor: { ...host, isMute: true },
    status: 'working',
    isTold: false,
  },
  { name: 'of no host is told', monitor: expression, status: 'standby', isTold: true },
] as const)('the close of an alert $name', async ({ monitor, status, isTold }) => {
  const event = await closed(monitor, monitor.type === 'host' ? 'h1' : '', status);
  expect(event).toMatchObject({ kind: 'closed', trigger: 'manual', reason: 'seen', isTold });
});

test('a close that loses to an evaluation is tried again', async () => {
  expect(await closed(host, 'h1', 'working', 2)).toMatchObject({ alert: { id: 'a1' }, kind: 'closed' });
});
