import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { archive } from '../../scripts/ops/archive';
import { drain } from '../../scripts/ops/drain';
import { importFile } from '../../scripts/ops/import';
import { Functions } from '../../scripts/ops/invoke';
import { Client } from '../support/client';
import { type LocalStack, SHARED_SETTINGS, startLocalStack } from '../support/local-stack';
import { temporaryDir } from '../support/temporary-dir';
import { until } from '../support/until';

const SENSORS = Array.from({ length: 40 }, (_, i) => `s${i}`);
const METRIC = 'probe_value';
const time = Math.floor(Date.now() / 60_000) * 60 - 3_600;

describe('small sources that share a pool', () => {
  let stack: LocalStack;
  let client: Client;
  let functions: Functions;
  let folder: string;

  beforeAll(async () => {
    stack = await startLocalStack({ settings: SHARED_SETTINGS.fourShards });
    client = new Client(stack.url, stack.apiKey, true);
    functions = new Functions(stack.url);
    folder = temporaryDir();
  });

  afterAll(async () => {
    functions?.close();
    rmSync(folder, { recursive: true, force: true });
    await stack?.stop();
  });

  /** Posts the same value for each sensor, at one time. */
  const post = async (value: number) => {
    const lines = SENSORS.map((sensor) => `probe,sensor=${sensor} value=${value} ${time}`);
    const response = await client.request('POST', '/api/v2/write?precision=s', lines.join('\n'), {
      'content-type': 'text/plain',
    });
    expect([response.status, await response.text()]).toEqual([204, '']);
  };
  const importAll = async (value: number) => {
    const file = join(folder, `${value}.csv`);
    const rows = SENSORS.map((sensor) => `${time},${sensor},${METRIC},${value}`);
    writeFileSync(file, `time,sensor,name,value\n${rows.join('\n')}\n`);
    await importFile(functions, { file, tenant: 'default', map: [], rate: 1e9 }, () => {});
  };
  /**
   * Reads the sensors. Returns their distinct values; NaN stands for sensors that do not have exactly one
   * value.
   */
  const values = async (): Promise<readonly number[]> => {
    const found = await Promise.all(
      SENSORS.map(async (sensor) => {
        const path = `/api/v1/series/metrics?name=${METRIC}&label=sensor=${sensor}&from=${time}&to=${time}`;
        const response = await client.request('GET', path);
        if (!response.ok) return [];
        return ((await response.json()) as { metrics: { value: number }[] }).metrics;
      }),
    );
    return [...new Set(found.map((points) => (points.length === 1 ? points[0]!.value : Number.NaN)))];
  };
  const shows = (value: number) =>
    until(`the value ${value}`, values, (seen) => seen.join() === String(value));

  test('keep the value that came last, whether it was posted or imported', async () => {
    await post(1);
    await shows(1);
    await importAll(2);
    await shows(2);
    await post(3);
    await shows(3);

    // All are in the pool's partition, and nowhere else.
    await drain(functions, () => {});
    const { archived } = await archive(functions, { before: 8.64e15, purge: true }, () => {});
    expect(archived).toBe(1);
    await shows(3);
  });
});
