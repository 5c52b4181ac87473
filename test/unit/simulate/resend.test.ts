import { Random } from '../../../scripts/faults/random';
import { HOSTS } from '../../../scripts/simulate/actors/agents';
import { Scheduler } from '../../../scripts/simulate/scheduler';
import { Stage, type Tenant } from '../../../scripts/simulate/stage';
import type { World } from '../../../scripts/simulate/world';

const HOUR_S = 3600;

test('an agent resends nothing older than 20 hours, even after its host was silent for 15', async () => {
  const scheduler = new Scheduler(1, Date.UTC(2028, 1, 26));
  const bodies: string[] = [];
  const request = async (_method: string, _path: string, _key: string, body?: object | string) => {
    bodies.push(typeof body === 'string' ? body : JSON.stringify(body));
    return { status: 200, body: {} };
  };
  const stage = new Stage({ scheduler, request } as unknown as World, { hosts: 1, series: 1 }, new Random(1));
  const [startS, nowS] = [stage.startS, stage.startS + 40 * HOUR_S];
  await scheduler.runUntil(scheduler.sleep(40 * HOUR_S * 1000));
  const series = { hostId: 'h', name: 'custom.cpu_m0', seed: 1, days: new Map() };
  const postedS = nowS - 15 * HOUR_S;
  const host = { id: 'h', name: 'h', series: [series], state: 'posting' as const, postedS, correctedS: 0 };
  stage.tenants.push({ hosts: [host], key: 'k' } as unknown as Tenant);
  stage.model.sending(stage.usual(host, startS, postedS))('acknowledged');

  await HOSTS.find(({ name }) => name === 'an agent resends a day')!.act(stage, new Random(1));

  const times = [...bodies.join('\n').matchAll(/\b\d{10}\b/g)].map(([time]) => Number(time));
  expect([Math.min(...times), Math.max(...times)]).toEqual([nowS - 20 * HOUR_S, postedS]);
});
