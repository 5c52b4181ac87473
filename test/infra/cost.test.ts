import { join } from 'node:path';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { PRESETS, SIZES } from '../../infra/config';
import { LOG_RETENTION_DAYS } from '../../infra/log-retention';
import { costReport, costText, idleReport, idleText, type LoadOptions } from '../../scripts/ops/cost-report';
import { quotasReport, quotasText } from '../../scripts/ops/quotas-report';
import { deployedStage } from '../../scripts/ops/stage-template';
import type { StageTemplate } from '../../shared/cost/stage-cost';
import { FUNCTIONS } from '../../shared/platform/names';
import { runOps } from '../support/ops';
import { synthesizedTemplate } from './synthesized-template';

const root = join(__dirname, '..', '..');
const million: LoadOptions = {
  stage: 'production',
  set: {},
  series: 1_000_000,
  interval: 60_000,
  retention: 460 * 86_400_000,
  batch: 500,
  reads: 100_000,
  tenants: 1,
};

test('a million series a minute for 460 days are at most $9 a billion samples, each line explained', () => {
  const report = costReport(million);
  expect(report.samples).toBe(43.8e9);
  expect(report.batched.dollarsPerBillion).toBeLessThanOrEqual(9);
  const sum = report.batched.lines.reduce((total, { dollars }) => total + dollars, 0);
  expect(report.batched.dollars).toBeCloseTo(sum, 6);
  for (const { because } of report.batched.lines) expect(because).not.toBe('');
  // A request that a host itself posts has 100 samples.
  const requests = report.byHost.lines.find(({ what }) => what === 'API requests')!;
  expect(requests.dollars / (report.samples / 1e9)).toBeCloseTo(10, 6);
  expect(report.others.map(({ dollarsPerBillion }) => dollarsPerBillion)).toEqual([38, 147, 1470]);
  expect(report.alternatives.map(({ setting }) => setting)).toEqual([
    'window=4h',
    'warmTtl=14d',
    'postEndpoint=url',
  ]);
  // Loads that would bring the price to $6.
  expect(report.otherLoads.map(({ load }) => load)).toEqual([
    'requests of 2000 samples',
    '10 M series',
    'both',
  ]);
  expect(report.otherLoads.at(-1)!.dollarsPerBillion).toBeLessThanOrEqual(6);
});

test('10,000 Telegraf hosts of 100 series cost at most a tenth more than in requests of a host at once', () => {
  const telegraf = costReport({ ...million, shape: 'telegraf' });
  const dense = costReport({ ...million, shape: 'dense' });
  expect(telegraf.batched.dollars).toBeLessThanOrEqual(1.1 * dense.batched.dollars);
  expect(telegraf.batched.lines.map(({ what }) => what)).toEqual(dense.batched.lines.map(({ what }) => what));
});

test('is shown as a table', () => {
  const set = { cacheNodeType: 'cache.t4g.small' };
  const text = costText(costReport({ ...million, series: 20_000, set }));
  expect(text).toMatch(
    /^0\.9 billion samples a month; .* of\n {2}npx cdk deploy --all -c stage=production -c size=small -c cacheNodeType=cache.t4g.small\n/,
  );
  expect(text).toMatch(
    /\n\d+\.\d\d +\d+\.\d\d +cache nodes +2 cache\.t4g\.small \(1 shard, 2 copies\) at \$0\.0256/,
  );
  expect(text).toContain('Amazon Managed Prometheus $38, Grafana Cloud $147, CloudWatch $1470');
});

test('an idle stage is itemised as it is configured: at most $25 in dev, $150 in production of size small', () => {
  const dev = idleReport({ ...million, stage: 'dev' });
  const line = (what: string) => dev.lines.find((each) => each.what === what)!.because;
  expect(line('cache nodes')).toMatch(/^1 cache\.t4g\.micro \(1 shard, 1 copy\)/);
  expect(line('stream shards')).toMatch(/^1 at \$0\.015 an hour, remembering 1 d/);
  expect(line('scheduled functions')).toContain(
    'flusher, recovery, archiver, operator, evaluator, canary, ingester',
  );
  expect(line('alarms')).toMatch(/^11 metrics/);
  expect(line('metrics')).toMatch(/^9 custom ones at/);
  expect(dev.dollars).toBeLessThanOrEqual(25);
  const report = idleReport(million);
  const small = report.sizes.find(({ size }) => size === 'small')!;
  expect(small.dollars).toBeLessThanOrEqual(150);
  expect(small.series).toBe(100_000);
  const production = idleText(report);
  expect(production).toMatch(
    /^a month without posts or reads, for\n {2}npx cdk deploy --all -c stage=production -c size=medium\n/,
  );
  expect(production).toMatch(
    /\n\d+\.\d\d +small +100 k series at a sample a minute +npx cdk deploy --all -c stage=production -c size=small\n/,
  );
  expect(production).toMatch(/cache nodes +2 cache\.t4g\.small \(1 shard, 2 copies\)/);
});

test.each(SIZES.flatMap((size) => (['dense', 'telegraf'] as const).map((shape) => ({ size, shape }))))(
  'the size $size has room for its series, $shape, and is what its load is priced on',
  ({ size, shape }) => {
    const { series } = PRESETS[size];
    const load = { ...million, shape, series, tenants: Math.ceil(series / 1_000_000) };
    const { lines, deploy } = quotasReport({ ...load, peak: 2 });
    expect(lines.filter(({ share }) => share > 1)).toEqual([]);
    expect(deploy).toBe(`npx cdk deploy --all -c stage=production -c size=${size}`);
    // `ops cost` chooses the same stage, and the idle stage's costs are a part of the load's.
    const report = costReport(load);
    expect(report.deploy).toBe(deploy);
    const idle = idleReport({ ...million, set: { size } });
    expect(idle.deploy).toBe(deploy);
    for (const what of ['cache nodes', 'stream shards', 'alarms', 'metrics']) {
      const dollars = (bill: typeof idle | typeof report.batched) =>
        bill.lines.find((each) => each.what === what)!.dollars;
      expect({ what, dollars: dollars(report.batched) }).toEqual({ what, dollars: dollars(idle) });
    }
  },
);

test.each<{ name: string; load: Partial<LoadOptions>; deploy: string }>([
  {
    name: 'a sample every six seconds',
    load: { interval: 6_000 },
    deploy: '-c stage=production -c size=large',
  },
  {
    name: 'more than the largest size takes',
    load: { series: 100_000_000 },
    deploy: '-c stage=production -c size=large -c streamShards=50 -c cacheShards=9',
  },
  {
    name: 'shards that the operator chose',
    load: { series: 100_000_000, set: { streamShards: '9', cacheShards: '9' } },
    deploy: '-c stage=production -c size=large -c streamShards=9 -c cacheShards=9',
  },
  { name: 'a stage without sizes', load: { stage: 'dev', series: 1000 }, deploy: '-c stage=dev' },
])('a price is of the stage that one line deploys: $name', ({ load, deploy }) => {
  expect(costReport({ ...million, ...load }).deploy).toBe(`npx cdk deploy --all ${deploy}`);
});

test.each<[stage: string, set: Record<string, string>]>([
  ['local', {}],
  ['dev', {}],
  ['dev', { monitoring: 'full' }],
  ['staging', { tracing: 'all' }],
  ['production', {}],
  ['production', { size: 'large', cacheShards: '6', streamMode: 'on-demand' }],
  ['production', { monitoring: 'essential', cacheReplicas: '3', tracing: 'none' }],
  ['production', { postEndpoint: 'url', postConcurrency: '100' }],
])('the figures of %s with %j are those of its templates', (stage, set) => {
  const { template } = deployedStage(stage, set);
  const synthesized = synthesizedTemplate(stage, set);
  const figuresOf = ({ ticks, isTraced, ...others }: StageTemplate) => ({
    ...others,
    ticks: FUNCTIONS.map((name) =>
      ticks.filter((tick) => tick.name === name).reduce((sum, { perMonth }) => sum + perMonth, 0),
    ),
    traced: FUNCTIONS.filter(isTraced),
  });
  expect(figuresOf(template)).toEqual(figuresOf(synthesized));
});

test('every retention that CloudWatch Logs has can be set', () => {
  const days = Object.values(RetentionDays).filter((value): value is number => typeof value === 'number');
  // 9999 means that logs never expire.
  expect([...LOG_RETENTION_DAYS]).toEqual(days.filter((value) => value !== 9999).sort((a, b) => a - b));
});

test('ops quotas says what breaks first, and what to do about it', () => {
  const options = { ...million, set: { size: 'large' }, series: 100_000_000, tenants: 10_000, peak: 2 };
  const text = quotasText(quotasReport(options));
  expect(text).toMatch(
    /^100 M series of 10 k tenants, 1.67 M samples a second, on\n {2}npx cdk deploy --all -c stage=production -c size=large\n/,
  );
  expect(text).toMatch(
    /\n6\d\d % +5\d +8 +stream shards, of the stage +1\d(\.\d)? M series +setting +-c streamShards=/,
  );
  expect(text).toMatch(/\d of \d+ limits are too low for this load\.$/);
  const small = quotasText(quotasReport({ ...million, series: 1000, peak: 2 }));
  expect(small).toMatch(/The load is within all limits\. .+ would break first, at .+ series\.$/);
});

test.each<{ wrong: Partial<LoadOptions>; says: RegExp }>([
  { wrong: { stage: 'prod' }, says: /^stage: "prod" is not one of local, dev, staging, production/ },
  { wrong: { set: { size: 'huge' } }, says: /^size: "huge" is not one of small, medium, large/ },
  { wrong: { set: { windows: '4h' } }, says: /^windows: no such setting/ },
  { wrong: { set: { window: '7m' } }, says: /^window: 7m does not divide a day/ },
  { wrong: { set: { window: '12h' } }, says: /^window: 12h was not measured, only 1h/ },
  { wrong: { units: '/nonexistent' }, says: /^--units \/nonexistent: ENOENT/ },
  { wrong: { units: join(root, 'package.json') }, says: /^--units .*: load: / },
])('$wrong is refused in a sentence', ({ wrong, says }) => {
  expect(() => costReport({ ...million, ...wrong })).toThrow(says);
});

test.each([
  { args: ['--series', '0'], says: /--series.*Give a whole number/ },
  { args: ['--interval', 'often', '--set', 'window'], says: /--interval.*Give a duration such as 60s/ },
  { args: ['--set', 'window=12h'], says: /^ops: window: 12h was not measured/ },
])('ops cost $args ends with a sentence', async ({ args, says }) => {
  expect(await runOps('cost', ...args)).toMatchObject({ code: 1, err: expect.stringMatching(says) });
});
