import type { AlertEvent } from '../../../shared/monitors/alert-event';
import type { CheckReport } from '../../../shared/monitors/check-report';
import type { Downtime } from '../../../shared/monitors/downtime';
import { type ReportStores, takeReports } from '../../../shared/monitors/take-reports';
import type { Host } from '../../../shared/registry/hosts';
import type { Tenant } from '../../../shared/tenancy/tenants';

const NOON_S = Date.parse('2026-11-23T12:00:00Z') / 1000;
const HOSTS: Readonly<Record<string, object>> = {
  web: { id: 'web', status: 'working', roleIds: [], retiredAt: null },
  off: { id: 'off', status: 'poweroff', roleIds: [], retiredAt: null },
  retired: { id: 'retired', status: 'working', roleIds: [], retiredAt: 1 },
};
const reportOf = (hostId: string, fields: object = {}) => ({
  source: { type: 'host', hostId },
  name: 'disk',
  status: 'CRITICAL',
  occurredAt: NOON_S,
  ...fields,
});

/** Takes reports, and returns those that reached a check, with their context, and the recorded events. */
async function take(
  given: readonly unknown[],
  downtimes: readonly object[] = [],
  hostOf: (id: string) => object | undefined = (id) => HOSTS[id],
) {
  const taken: { host: string; name: string; at: number; isWatched: boolean; isDown: boolean }[] = [];
  const recorded: AlertEvent[] = [];
  const stores: ReportStores = {
    alerts: { record: async (_, events) => void recorded.push(...events) },
    checks: {
      report: async (_, { source, name, occurredAt, status }: CheckReport, host, context) => {
        await Promise.resolve();
        taken.push({ host: host.id, name, at: occurredAt - NOON_S, ...context });
        return source.hostId === host.id && status === 'CRITICAL' ? ({ id: name } as AlertEvent) : undefined;
      },
      retireHost: async (_, hostId) => [{ id: `${hostId} retired` } as AlertEvent],
    },
    downtimes: { list: async () => downtimes as Downtime[] },
    hosts: { get: async (_, id) => hostOf(id) as Host | undefined },
    services: { list: async () => [] },
  };
  await takeReports(stores, { id: 't', name: 't' } as Tenant, given, NOON_S * 1000);
  return { taken, recorded };
}

describe('reports of checks', () => {
  test('that are invalid, or of unknown or retired hosts, do not keep others from being taken', async () => {
    const invalid = [reportOf('web', { status: 'BAD' }), 'text', null, reportOf('no/host')];
    const { taken } = await take([...invalid, reportOf('gone'), reportOf('retired'), reportOf('web')]);
    expect(taken.map(({ host }) => host)).toEqual(['web']);
    expect((await take(invalid)).taken).toEqual([]);
  });

  test('of one check are taken in the order of their times', async () => {
    const times = [3, -5, 0, 60];
    const { taken } = await take(
      times.flatMap((at) =>
        ['disk', 'procs'].map((name) => reportOf('web', { name, occurredAt: NOON_S + at })),
      ),
    );
    for (const name of ['disk', 'procs'])
      expect(taken.filter((each) => each.name === name).map(({ at }) => at)).toEqual([-5, 0, 3, 60]);
  });

  test('say whether their host is watched, and whether a downtime holds now', async () => {
    const downtime = { id: 'd', name: 'd', start: NOON_S - 60, duration: 5 };
    const flags = async (id: string, downtimes: object[]) => {
      const [{ isWatched, isDown } = {}] = (await take([reportOf(id)], downtimes)).taken;
      return { isWatched, isDown };
    };
    expect(await flags('web', [])).toEqual({ isWatched: true, isDown: false });
    expect(await flags('off', [])).toEqual({ isWatched: false, isDown: false });
    expect(await flags('web', [downtime])).toEqual({ isWatched: true, isDown: true });
    expect(await flags('web', [{ ...downtime, start: NOON_S - 600 }])).toEqual({
      isWatched: true,
      isDown: false,
    });
  });

  test('leave no alert open when their host is retired at the same time', async () => {
    let looks = 0;
    const hostOf = () => ({ ...HOSTS.web, retiredAt: looks++ === 0 ? null : NOON_S });
    const { recorded } = await take([reportOf('web')], [], hostOf);
    expect(recorded).toEqual([{ id: 'disk' }, { id: 'web retired' }]);
    looks = 0;
    expect((await take([reportOf('web', { status: 'OK' })], [], hostOf)).recorded).toEqual([]);
  });

  test('that change an alert are recorded in its log', async () => {
    const { recorded } = await take([reportOf('web'), reportOf('web', { name: 'procs', status: 'OK' })]);
    expect(recorded).toEqual([{ id: 'disk' }]);
  });
});
