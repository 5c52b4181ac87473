import { join } from 'node:path';
import { snappyCompress } from 'hysnappy';
import { labelsOf } from '../../shared/model/labels';
import { MemorySampleStore } from '../../shared/promql/memory-store';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { prometheusBinaries } from '../support/peers';
import { PrometheusServer } from '../support/prometheus-server';
import { until } from '../support/until';
import { encodeV1 } from '../unit/protocol/prometheus/messages';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const nowMs = Math.floor(Date.now() / 1000) * 1000 - 5_000;
const hourMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS;

/** Series keyed by instance, each with the times of its samples. */
const SERIES = {
  ended: [hourMs - 50 * MINUTE_MS, hourMs - 45 * MINUTE_MS],
  whole: [hourMs - 50 * MINUTE_MS, hourMs - 20 * MINUTE_MS, nowMs],
  within: [hourMs - 20 * MINUTE_MS, hourMs - 15 * MINUTE_MS],
  later: [hourMs, nowMs],
};
const RANGE = {
  'match[]': 'series_times',
  start: String((hourMs - 30 * MINUTE_MS) / 1000),
  end: String((hourMs - 10 * MINUTE_MS) / 1000),
};

describe('series and labels of a range', () => {
  let stack: LocalStack;
  let prometheus: PrometheusServer;

  beforeAll(async () => {
    prometheus = await PrometheusServer.start(join(prometheusBinaries(), 'prometheus'));
    stack = await startLocalStack({});
    const store = new MemorySampleStore();
    for (const [instance, times] of Object.entries(SERIES))
      for (const time of times)
        store.add(labelsOf(['__name__', 'series_times'], ['instance', instance], ['job', 'peers']), time, 1);
    await prometheus.write(store);
    const body = encodeV1(
      store.all().map(({ labels, samples }) => ({
        labels,
        samples: samples.map(([timestamp]) => ({ timestamp, value: 1 })),
      })),
    );
    const answer = await fetch(new URL('/prometheus/api/v1/write', stack.url), {
      method: 'POST',
      headers: { 'content-type': 'application/x-protobuf', 'x-api-key': stack.apiKey },
      body: snappyCompress(body),
    });
    expect([answer.status, await answer.text()]).toEqual([204, '']);
    await until(
      'every series',
      () => ours('label/instance/values', { ...RANGE, end: String(nowMs / 1000) }),
      ({ length }) => length === Object.keys(SERIES).length,
    );
  });

  afterAll(async () => {
    await stack?.stop();
    await prometheus?.stop();
  });

  async function ask<T>(url: string, parameters: Record<string, string>, headers = {}): Promise<T[]> {
    const answer = await fetch(`${url}?${new URLSearchParams(parameters)}`, { headers });
    return ((await answer.json()) as { data: T[] }).data;
  }

  const ours = <T = string>(path: string, parameters = RANGE) =>
    ask<T>(`${stack.url}/prometheus/api/v1/${path}`, parameters, { 'x-api-key': stack.apiKey });
  const theirs = <T = string>(path: string) => ask<T>(`${prometheus.url}/api/v1/${path}`, RANGE);
  const instances = (found: { readonly instance: string }[]) => found.map(({ instance }) => instance).sort();

  test('series are those of Prometheus, and others with samples on the days of start and end', async () => {
    const listed = instances(await theirs('series'));
    expect(listed).toEqual(['whole', 'within']);
    expect(instances(await ours('series'))).toEqual(expect.arrayContaining(listed));
  });

  test('values are at most those of Prometheus, which rounds to blocks', async () => {
    const listed = await theirs('label/instance/values');
    const found = await ours('label/instance/values');
    // Prometheus' head block lists the values of all series that it holds, regardless of when they began and ended.
    expect(listed).toEqual(expect.arrayContaining(['ended', 'later']));
    expect(listed).toEqual(expect.arrayContaining(found));
    expect(found).toEqual(expect.arrayContaining(['whole', 'within']));
    expect(await ours('labels')).toEqual(await theirs('labels'));
  });
});
