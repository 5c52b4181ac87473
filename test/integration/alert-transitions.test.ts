import { Random } from '../../scripts/faults/random';
import { DeliveryError } from '../../shared/alerting/delivery/post-outside';
import { NO_RECEIVERS } from '../../shared/alerting/delivery/receivers';
import { sendAll } from '../../shared/alerting/delivery/send';
import { runTasks, type TaskRunDependencies } from '../../shared/alerting/run-tasks';
import { EvaluatorStore } from '../../shared/alerting/tasks/evaluator-store';
import { TaskIndex } from '../../shared/alerting/tasks/task-index';
import { TaskStates } from '../../shared/alerting/tasks/task-states';
import { DAY_MS } from '../../shared/model/duration';
import { randomId } from '../../shared/model/random-id';
import type { AlertBatch } from '../../shared/monitors/alert-event';
import type { AlertRecord } from '../../shared/monitors/alert-record';
import { AlertStore } from '../../shared/monitors/alert-store';
import type { Channel } from '../../shared/monitors/channel';
import { checkReport } from '../../shared/monitors/check-report';
import { CheckStore } from '../../shared/monitors/check-store';
import { closeAlert } from '../../shared/monitors/close-alert';
import { destinationsOf } from '../../shared/monitors/destinations';
import { evaluateMonitors, type MonitorStores } from '../../shared/monitors/evaluate-monitors';
import type { Monitor } from '../../shared/monitors/monitor';
import type { MonitorState } from '../../shared/monitors/monitor-state';
import { NotificationGroups } from '../../shared/monitors/notification-groups';
import { MemorySampleStore } from '../../shared/promql/memory-store';
import { AutoIdDocuments } from '../../shared/registry/auto-id-documents';
import type { Tenant } from '../../shared/tenancy/tenants';
import { queriesOn } from '../support/queries-on';
import { SEED } from '../support/seed';
import { startTiers, type Tiers } from '../support/tiers';

const MINUTE_MS = 60_000;
const MINUTES = 40;

/** Alerts of a monitor and of checks, over a real table. Any step may fail before or after it has acted. */
describe(`alerts of random values (SEED=${SEED})`, () => {
  const random = new Random(SEED);
  let tiers: Tiers;
  let nowMs = Math.ceil(Date.now() / MINUTE_MS) * MINUTE_MS;
  const now = () => nowMs;

  beforeAll(async () => {
    tiers = await startTiers();
  });

  afterAll(async () => {
    await tiers?.stop();
  });

  /** Probability that a step fails. */
  let faults = 0;
  const faulty =
    <A extends unknown[], R>(step: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (random.chance(faults)) throw new Error('killed before the step');
      const result = await step(...args);
      if (random.chance(faults)) throw new Error('killed after the step');
      return result;
    };

  test('a killed run whose clock was hours ahead holds up no other run', async () => {
    const begin = (aheadMs: number) =>
      new EvaluatorStore(tiers.meta, () => nowMs + aheadMs).beginRun(randomId(), nowMs + aheadMs + MINUTE_MS);
    expect(await begin(5 * 3_600_000)).toBe(true);
    expect(await begin(0)).toBe(true);
    // The run that has begun blocks other runs, even if their clocks differ by seconds.
    expect(await begin(30_000)).toBe(false);
    expect(await begin(-30_000)).toBe(false);
    nowMs += 2 * MINUTE_MS;
  });

  test('receivers are notified of each transition at least once, and in order', async () => {
    const table = tiers.meta;
    const tenant: Tenant = await tiers.tenants.create('acme', 1);
    const store = new EvaluatorStore<AlertBatch>(table, now);
    const index = new TaskIndex(table, now);
    const alerts = new AlertStore(table, DAY_MS);
    const checks = new CheckStore(table, store, now);
    const monitors = new AutoIdDocuments<Monitor>(table, 'monitors');
    const monitorStates = new TaskStates<MonitorState>(table, 'monitor');
    const channels = new AutoIdDocuments<Channel>(table, 'channels');
    const notificationGroups = new NotificationGroups(table);
    const samples = new MemorySampleStore();
    const { hosts, services, hostLabels } = tiers;

    const hook = { type: 'webhook', name: 'hook', url: 'https://hook' } as const;
    const channel = await channels.create(tenant.id, hook);
    const [standard] = await notificationGroups.list(tenant.id);
    await notificationGroups.change(tenant.id, standard!.id, (group) => ({
      ...group,
      childChannelIds: [channel.id],
    }));
    const spec = { name: '', displayName: null, customIdentifier: null, memo: '', meta: {}, interfaces: [] };
    const registered = await Promise.all(
      ['a', 'b', 'c'].map((name) => hosts.create(tenant.id, { ...spec, name }, [])),
    );
    const load = {
      type: 'host',
      name: 'load',
      metric: 'loadavg5',
      operator: '>',
      warning: 3,
      critical: 6,
      duration: 1,
    } as const;
    const monitor = await monitors.create(tenant.id, load);
    await index.put(tenant, 'monitor', monitor.id, 1, MINUTE_MS);

    const stores: MonitorStores = {
      tenants: tiers.tenants,
      monitors,
      states: monitorStates,
      hosts,
      services,
      downtimes: { list: async () => [] },
      hostNames: (tenantId) => hostLabels.of(tenantId),
      hasPosted: async () => true,
      queriesOf: queriesOn(samples),
      charge: async () => {},
      stage: { ruleQueryOffset: 0 },
    };
    /** What the webhook received, by alert. */
    const told = new Map<string, string[]>();
    const post = faulty(async ({ json }: { readonly json: string }) => {
      if (random.chance(faults)) throw new DeliveryError('the receiver fails', false);
      const { alert } = JSON.parse(json);
      told.set(alert.id, [
        ...(told.get(alert.id) ?? []),
        `${alert.statusChangedAt} ${alert.status.toUpperCase()}`,
      ]);
    });
    const destinations = {
      alerts: { record: faulty((...args: Parameters<AlertStore['record']>) => alerts.record(...args)) },
      channels,
      groups: notificationGroups,
      externalUrl: '',
      post,
    };
    const sending = {
      receivers: { get: async () => NO_RECEIVERS },
      publish: async () => {},
      externalUrl: '',
      now,
      post,
      reported: new Map(),
      ruleStates: { list: async () => new Map() },
      store: {
        outbox: () => store.outbox(),
        sent: faulty((key: string) => store.sent(key)),
        putOff: faulty((...args: Parameters<EvaluatorStore['putOff']>) => store.putOff(...args)),
        giveUp: (...args: Parameters<EvaluatorStore['giveUp']>) => store.giveUp(...args),
      },
      eventDestinations: (owner: Pick<Tenant, 'id' | 'name'>, batch: AlertBatch) =>
        destinationsOf(destinations, owner, batch),
      gaveUp: async () => {},
    };
    const evaluator: TaskRunDependencies = {
      index,
      store: {
        commit: faulty((...args: Parameters<EvaluatorStore['commit']>) => store.commit(...args)),
        beginRun: (...args) => store.beginRun(...args),
        endRun: (...args) => store.endRun(...args),
        putReport: (...args) => store.putReport(...args),
      },
      tenants: tiers.tenants,
      evaluate: faulty((request: Parameters<TaskRunDependencies['evaluate']>[0]) =>
        evaluateMonitors(stores, request),
      ),
      write: async () => {},
      send: (owners, hasTime) => sendAll(sending, owners, hasTime),
      stream: async () => ({ lagMs: 0, arrivedMs: 0 }),
      quiet: async () => undefined,
      done: new Map(),
      now,
      sleep: async () => {},
    };
    const run = () => runTasks(evaluator, randomId(), nowMs);

    const openAlerts = async (): Promise<readonly AlertRecord[]> =>
      (await alerts.list(tenant.id, { withClosed: false, limit: 100 })).items;
    const report = async (status: string) => {
      const [host] = registered;
      const given = checkReport.parse({
        source: { type: 'host', hostId: host!.id },
        name: 'procs',
        status,
        message: status,
        occurredAt: nowMs / 1000,
      });
      const context = { isWatched: true, isDown: false };
      await checks.report(tenant, given, { ...host!, roles: {} }, context);
    };

    faults = 0.1;
    for (let minute = 0; minute < MINUTES; minute++) {
      nowMs += MINUTE_MS;
      for (const { id } of registered)
        if (random.chance(0.9))
          samples.add(
            [
              ['__name__', 'loadavg5'],
              ['host', id],
            ],
            nowMs,
            random.pick([0, 4, 9]),
          );
      if (random.chance(0.5)) await report(random.pick(['OK', 'WARNING', 'CRITICAL']));
      const open = await openAlerts();
      if (open.length > 0 && random.chance(0.2))
        await closeAlert(
          { alerts, checks, monitorStates, evaluatorStore: store, hosts, services },
          tenant,
          random.pick(open).id,
          'by hand',
        );
      await run();
    }
    faults = 0;
    for (let hours = 0; (await store.outbox()).length > 0; hours++) {
      expect(hours).toBeLessThan(24);
      nowMs += 60 * MINUTE_MS;
      await run();
    }

    const { items } = await alerts.list(tenant.id, { withClosed: true, limit: 100 });
    expect(items.length).toBeGreaterThan(5);
    for (const { id } of items) {
      const { items: logs } = await alerts.logsOf(tenant.id, id, { limit: 100 });
      const happened = logs.map(({ createdAt, status }) => `${createdAt} ${status}`).reverse();
      expect({ id, told: [...new Set(told.get(id))] }).toEqual({ id, told: happened });
    }
    // The open alerts must be those that the states name.
    const tracks = [...(await monitorStates.list(tenant.id)).values()].flatMap((state) => state.tracks);
    for await (const { value } of checks.list(tenant))
      if (value.track !== undefined) tracks.push(value.track);
    const openIds = tracks.flatMap(({ alert }) => alert?.id ?? []).sort();
    expect((await openAlerts()).map(({ id }) => id).sort()).toEqual(openIds);
  });
});
