import type { StageAlarm } from '../../../scripts/ops/cloudwatch';
import { OperatorError } from '../../../scripts/ops/invoke';
import { compareAlarms, failOver, Skip } from '../../../scripts/ops/smoke-deep';

/** A clock that advances 30 s each time it is read. */
function ticking() {
  let nowMs = 0;
  return () => (nowMs += 30_000);
}
const WAIT = { lookMs: 0, mostMs: 600_000 };

describe('the failover of a deep smoke test', () => {
  const LOSS = {
    id: 'L1',
    fromMs: 0,
    notices: 1,
    isOpen: false,
    noticedMs: 1,
    reason: 'a replica took over',
  };

  /** Recovery that reports these losses after the failover, one after the other. */
  function world(
    after: readonly (typeof LOSS | undefined)[],
    {
      replicas = 1,
      before,
    }: {
      replicas?: number;
      before?: typeof LOSS;
    } = {},
  ) {
    let looks = 0;
    let failovers = 0;
    const functions = {
      invoke: async <T>(): Promise<T> => {
        const loss = failovers === 0 ? before : after[Math.min(looks++, after.length - 1)];
        return { loss, replay: undefined, shards: [] } as T;
      },
    };
    const cache = { replicas: async () => replicas, failOver: async () => void failovers++ };
    const lines: string[] = [];
    const run = () => failOver(functions, cache, (line) => lines.push(line), WAIT, ticking());
    return { run, lines, count: () => failovers };
  }

  test('waits until the loss is noticed, and then until it is repaired', async () => {
    const { run, lines, count } = world([undefined, { ...LOSS, isOpen: true }, LOSS]);
    await expect(run()).resolves.toMatch(
      /^the loss \(a replica took over\) was noticed, and repaired after \d+ s$/,
    );
    expect(lines).toEqual(['no loss was noticed yet', 'a loss is open: a replica took over']);
    expect(count()).toBe(1);
  });

  test('an earlier loss that is closed does not count, and one that is noticed again does', async () => {
    const { run, lines } = world([LOSS, { ...LOSS, notices: 2 }], { before: LOSS });
    await expect(run()).resolves.toMatch(/noticed/);
    expect(lines).toEqual(['no loss was noticed yet']);
  });

  test('a cache without replicas is left alone', async () => {
    const { run, count } = world([LOSS], { replicas: 0 });
    await expect(run()).resolves.toEqual(new Skip('the cache has no replica (cacheReplicas)'));
    expect(count()).toBe(0);
  });

  test.each([
    { name: 'that nobody notices', loss: undefined, says: /no loss was noticed yet$/ },
    {
      name: 'that stays open',
      loss: { ...LOSS, isOpen: true },
      says: /a loss is open: a replica took over$/,
    },
  ])('a loss $name fails the step', async ({ loss, says }) => {
    await expect(world([loss]).run()).rejects.toThrow(says);
    await expect(world([loss]).run()).rejects.toThrow(OperatorError);
  });
});

describe('the alarms of a deep smoke test', () => {
  const metricOf = (MetricName: string, Namespace = 'HeteroTSDB') => ({ Namespace, MetricName });
  const alarmOf = (name: string, metric: ReturnType<typeof metricOf>, more: Partial<StageAlarm> = {}) => ({
    name: `heterotsdb-dev-${name}`,
    state: 'OK',
    isSilenceAlarming: false,
    metrics: [metric],
    ...more,
  });
  const ALARMS = [
    alarmOf('canary-stale', metricOf('CanaryAgeSeconds'), { state: 'ALARM' }),
    alarmOf('api-errors', metricOf('5xx', 'AWS/ApiGateway')),
    alarmOf('cache-memory', metricOf('DatabaseMemoryUsagePercentage', 'AWS/ElastiCache'), {
      isSilenceAlarming: true,
    }),
  ];

  /**
   * Compares with a fake CloudWatch.
   *
   * @param without for each query of CloudWatch, the metrics that have no values then
   */
  function compare(alarms: readonly StageAlarm[], without: readonly (readonly string[])[]) {
    let looks = 0;
    const prefixes: string[] = [];
    const cloudWatch = {
      alarms: async (prefix: string) => {
        prefixes.push(prefix);
        return [...alarms];
      },
      withoutValues: async (metrics: readonly { Namespace: string; MetricName: string }[]) => {
        const names = without[Math.min(looks++, without.length - 1)]!;
        return metrics.filter(({ MetricName }) => names.includes(MetricName));
      },
    };
    const account = { stack: 'heterotsdb-dev', cloudWatch };
    return { prefixes, done: compareAlarms(account, 0, WAIT, () => {}, ticking()) };
  }

  test('pass once each metric of ours has values, and each one whose silence alarms', async () => {
    const { done, prefixes } = compare(ALARMS, [
      ['CanaryAgeSeconds', 'DatabaseMemoryUsagePercentage', '5xx'],
      ['DatabaseMemoryUsagePercentage', '5xx'],
      ['5xx'],
    ]);
    await expect(done).resolves.toBe(
      '3 alarms watch 3 metrics; all that must have values have them; AWS/ApiGateway 5xx have none, as before a first error; in alarm: heterotsdb-dev-canary-stale',
    );
    expect(prefixes).toEqual(['heterotsdb-dev-']);
  });

  test.each([
    { name: 'a metric of ours', without: 'CanaryAgeSeconds' },
    { name: 'a metric of AWS whose silence alarms', without: 'DatabaseMemoryUsagePercentage' },
  ])('fail while $name has no value', async ({ without }) => {
    await expect(compare(ALARMS, [[without]]).done).rejects.toThrow(
      new RegExp(`^1 of 3 metrics have no value: .* ?${without}$`),
    );
  });

  test('fail in a stage without alarms', async () => {
    await expect(compare([], [[]]).done).rejects.toThrow(
      'CloudWatch has no alarm whose name begins with heterotsdb-dev-',
    );
  });
});
