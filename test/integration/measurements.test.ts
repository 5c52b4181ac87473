import { Client } from '../support/client';
import { type LocalStack, SHARED_SETTINGS, startLocalStack } from '../support/local-stack';
import { ops } from '../support/ops';
import { until } from '../support/until';

const MEASUREMENTS = 10_000;
const FIELDS = 2;

describe('ten thousand measurements of one host and time in one request', () => {
  let stack: LocalStack;

  beforeAll(async () => {
    stack = await startLocalStack({ settings: SHARED_SETTINGS.fewPartitions });
  });

  afterAll(() => stack?.stop());

  const timeMs = Math.floor(Date.now() / 60_000) * 60_000;
  const write = async (client: Client, lines: readonly string[]) => {
    const answer = await client.request('POST', '/write', lines.join('\n'), { 'content-type': 'text/plain' });
    expect(answer.status).toBe(204);
  };
  const valuesOf = async (client: Client, name: string) => {
    const range = `from=${timeMs / 1000 - 600}&to=${timeMs / 1000 + 600}`;
    const answer = await client.request(
      'GET',
      `/api/v1/series/metrics?label=host%3Dweb1&name=${name}&${range}`,
    );
    if (answer.status === 404) return [];
    if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
    const { metrics } = (await answer.json()) as { metrics: { value: number }[] };
    return metrics.map(({ value }) => value);
  };

  // Comparing every pair of rows took 27 s for 1,500 measurements, and would take 20 minutes for these.
  test('are readable after the answer, and so are the posts of another tenant of the shard meanwhile', async () => {
    const client = new Client(stack.url, stack.apiKey);
    await ops(stack.url, 'tenants', 'create', 'bystander');
    const { key } = await ops<{ key: string }>(
      stack.url,
      ...['keys', 'create', '--tenant', 'bystander', '--rights', 'read,write'],
    );
    const other = new Client(stack.url, key);
    const body = (round: number) =>
      Array.from({ length: MEASUREMENTS }, (_, m) => {
        const fields = Array.from({ length: FIELDS }, (_, f) => `f${f}=${round + m}`);
        return `m${m},host=web1 ${fields.join()} ${timeMs - round * 1000}000000`;
      });
    const took: Record<'own' | 'others', number> = { own: 0, others: 0 };
    for (let round = 0; round < 2; round++) {
      await write(client, body(round));
      const answeredMs = Date.now();
      const own = until(
        `the last measurement of round ${round}`,
        () => valuesOf(client, `m${MEASUREMENTS - 1}_f${FIELDS - 1}`),
        (values) => values.length === round + 1,
      ).then(() => {
        took.own = Math.max(took.own, Date.now() - answeredMs);
      });
      await write(other, [`cpu,host=web1 idle=${round} ${timeMs - round * 1000}000000`]);
      const othersMs = Date.now();
      await until(
        `the other tenant's sample ${round}`,
        () => valuesOf(other, 'cpu_idle'),
        (values) => values.length === round + 1,
      );
      took.others = Math.max(took.others, Date.now() - othersMs);
      await own;
    }
    console.log(
      `${MEASUREMENTS} measurements: readable after ${took.own} ms; another tenant's sample after ${took.others} ms`,
    );
    for (const m of [0, 1, 4_999])
      expect((await valuesOf(client, `m${m}_f0`)).sort((a, b) => a - b)).toEqual([m, m + 1]);
  });
});
