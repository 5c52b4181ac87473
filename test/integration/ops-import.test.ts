import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { ImportResult } from '../../functions/importer/import-event';
import { localAws } from '../../scripts/local/provision';
import { physicalName } from '../../scripts/local/template';
import { archive } from '../../scripts/ops/archive';
import { drain } from '../../scripts/ops/drain';
import { type ImportOptions, importFile } from '../../scripts/ops/import';
import { Functions } from '../../scripts/ops/invoke';
import { tenantIdOf } from '../../shared/model/placement';
import { Tenants } from '../../shared/tenancy/tenants';
import { Client } from '../support/client';
import { type LocalStack, SHARED_SETTINGS, startLocalStack } from '../support/local-stack';
import { patientFetch } from '../support/patient-fetch';
import { temporaryDir } from '../support/temporary-dir';
import { until } from '../support/until';

const DAY = 86_400;
const now = Math.floor(Date.now() / 60_000) * 60;

describe('ops import', () => {
  let stack: LocalStack;
  let client: Client;
  let functions: Functions;
  let folder: string;
  let host: string;

  beforeAll(async () => {
    stack = await startLocalStack({ hasFreedoms: true, settings: SHARED_SETTINGS.oldSamples });
    client = new Client(stack.url, stack.apiKey, true);
    functions = new Functions(stack.url);
    folder = temporaryDir();
    host = await client.createHost('imported');
  });

  afterAll(async () => {
    functions?.close();
    rmSync(folder, { recursive: true, force: true });
    await stack?.stop();
  });

  /** Invokes functions, and fails after some calls. */
  const interrupted = (after: number): Pick<Functions, 'invoke'> => {
    let calls = 0;
    return {
      invoke: async (name, payload) => {
        if (++calls > after) throw new Error('interrupted');
        return functions.invoke(name, payload);
      },
    };
  };
  const load = (
    file: string,
    options: Partial<ImportOptions> = {},
    through: Pick<Functions, 'invoke'> = functions,
  ) => importFile(through, { file, tenant: 'default', map: [], rate: 1e9, ...options }, () => {});
  /** Stored samples of a range of times in seconds, both ends included. */
  const read = async (name: string, from: number, to: number): Promise<[number, number][]> => {
    const path = `/api/v1/hosts/${host}/metrics?name=${name}&from=${from}&to=${to}`;
    const { times, series } = await client.json<{
      times: number[];
      series: { name: string; values: number[] }[];
    }>('GET', path);
    return times.map((time, i) => [time / 1000, series[0]!.values[i]!]);
  };

  test('brings two years of a file, interrupted and resumed, exact through every tier', async () => {
    // A sample every five days and one hour, so that each lies in its own window and day.
    const times = Array.from({ length: 150 }, (_, i) => now - 760 * DAY + i * (5 * DAY + 3600));
    const rows = times.map((time, i) => `${new Date(time * 1000).toISOString()},${host},m,${i + 0.1 + 0.2}`);
    const file = join(folder, 'history.csv');
    writeFileSync(file, `time,host,name,value\n${rows.join('\n')}\n`);
    const options = { batchSamples: 40 };
    expect(await load(file, { ...options, dryRun: true })).toMatchObject({
      samples: 150,
      series: 1,
      refused: {},
    });
    // The first call asks which times are accepted.
    await expect(load(file, options, interrupted(3))).rejects.toThrow(
      'interrupted; what was sent before is kept',
    );
    expect(await load(file, options)).toMatchObject({ samples: 70, resumedAtRow: 80 });

    const expected = times.map((time, i) => [time, i + 0.1 + 0.2]);
    const all = () => read('m', times[0]!, now);
    /** The imported series by day, and the number of days that came from rollups. */
    const days = async (version: 'v0' | 'v1') => {
      const path = `/api/${version}/hosts/${host}/metrics?name=m&from=${times[0]}&to=${now}&step=1d`;
      const response = await client.request('GET', path);
      const body = (await response.json()) as {
        metrics: { time: number; value: number }[];
        times: number[];
        series: { values: number[] }[];
      };
      const rolled = /rollup;desc="(\d+) days"/.exec(response.headers.get('server-timing') ?? '');
      const rows =
        version === 'v0'
          ? body.metrics.map(({ time, value }) => [time, value])
          : body.times.map((time, i) => [time / 1000, body.series[0]!.values[i]!]);
      return {
        rolled: Number(rolled?.[1]),
        times: rows.map(([time]) => time),
        values: rows.map(([, value]) => value),
      };
    };
    /** Each sample is on its own day. */
    const daily = (rows: readonly (readonly number[])[]) => ({
      times: rows.map(([time]) => Math.floor(time! / DAY) * DAY),
      values: rows.map(([, value]) => value),
    });
    await until('every sample in memory', all, (found) => found.length === times.length);
    expect(await all()).toEqual(expected);
    await drain(functions, () => {});
    expect(await all()).toEqual(expected);
    expect((await archive(functions, { before: 8.64e15, purge: true }, () => {})).archived).toBe(150);
    expect(await all()).toEqual(expected);
    expect(await days('v0')).toEqual({ rolled: 150, ...daily(expected) });
    expect(await days('v1')).toEqual({ rolled: 150, ...daily(expected) });

    // The later value wins, also on an archived day.
    const correction = join(folder, 'correction.ndjson');
    const corrected = { time: times[0], host, name: 'm', value: -1 };
    writeFileSync(correction, JSON.stringify(corrected));
    await load(correction);
    const isCorrected = (found: [number, number][]) => found[0]?.[1] === -1;
    await until('the correction', () => read('m', times[0]!, times[0]! + 60), isCorrected);
    await drain(functions, () => {});
    expect((await archive(functions, { before: 8.64e15, purge: true }, () => {})).archived).toBe(1);
    expect(await all()).toEqual([[times[0], -1], ...expected.slice(1)]);
  });

  test("accepts only what the archiver keeps, if the stage's retention has become shorter than the tenant's", async () => {
    const dynamodb = new DynamoDBClient(localAws(Number(new URL(stack.awsEndpoint).port)));
    const tenants = new Tenants({ client: dynamodb, name: physicalName('MetaTable') });
    const times = async () => {
      const { fromMs, toMs } = await functions.invoke<ImportResult>('importer', { tenant: 'default' });
      return Math.round((toMs - fromMs) / (DAY * 1000));
    };
    const stageDays = Number.parseInt(SHARED_SETTINGS.oldSamples.retention, 10);
    await tenants.setRetention(tenantIdOf('default'), 2 * stageDays * DAY * 1000);
    expect(await times()).toBe(stageDays + 1);
    await tenants.setRetention(tenantIdOf('default'), 400 * DAY * 1000);
    expect(await times()).toBe(401);
    await tenants.setRetention(tenantIdOf('default'), null);
    dynamodb.destroy();
  });

  test('is not for API keys: post refuses what is older than maxSampleAge', async () => {
    await client.post([{ hostId: host, name: 'old', time: now - 30 * DAY, value: 1 }]);
    await client.post([{ hostId: host, name: 'old', time: now, value: 2 }]);
    await until(
      'the new one',
      () => read('old', now, now + 60),
      ({ length }) => length > 0,
    );
    expect(await read('old', now - 31 * DAY, now - 29 * DAY)).toEqual([]);
    const response = await patientFetch(
      new URL('/2015-03-31/functions/heterotsdb-local-importer/invocations', stack.url),
      {
        method: 'POST',
        headers: { 'x-api-key': stack.apiKey },
        body: '{"tenant":"default"}',
      },
    );
    expect(response.status).toBeGreaterThanOrEqual(400);
  });
});
