import { readConfig, SIZES, STAGES, stageSettings } from '../../infra/config';
import { InvalidSettingError } from '../../shared/platform/settings';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const CERTIFICATE = 'arn:aws:acm:us-east-1:123456789012:certificate/0a1b2c3d-0000-1111-2222-333344445555';

describe('the configuration', () => {
  test('is dev with its defaults when nothing is chosen', () => {
    expect(readConfig({})).toEqual({ stage: 'dev', settings: stageSettings('dev'), retain: false });
  });

  test.each([
    { name: 'a setting by its own name', context: { window: '20s' }, window: 20_000 },
    { name: 'settings as JSON text', context: { settings: '{"window":"30s"}' }, window: 30_000 },
    { name: 'settings as an object in cdk.json', context: { settings: { window: '30s' } }, window: 30_000 },
    {
      name: 'a setting by its own name before the same one in JSON',
      context: { settings: '{"window":"30s"}', window: '20s' },
      window: 20_000,
    },
    {
      name: "CDK's own context beside it",
      context: { '@aws-cdk/core:x': true, 'cli-telemetry': false, 'aws:y': [] },
      window: HOUR_MS,
    },
  ])('can be $name', ({ context, window }) => {
    expect(readConfig(context).settings.window).toBe(window);
  });

  test('takes a size, over which settings win', () => {
    expect(readConfig({ stage: 'production' })).toEqual(readConfig({ stage: 'production', size: 'medium' }));
    expect(readConfig({ stage: 'production', size: 'small', streamShards: '3' })).toMatchObject({
      size: 'small',
      settings: {
        streamShards: 3,
        cacheShards: 1,
        cacheNodeType: 'cache.t4g.small',
        logRetention: 90 * DAY_MS,
      },
    });
    expect(readConfig({ stage: 'dev', size: 'large' }).settings).toMatchObject({
      partitions: 64,
      cacheReplicas: 0,
    });
    for (const size of SIZES) for (const stage of STAGES) expect(readConfig({ stage, size }).size).toBe(size);
  });

  test('keeps the stores of staging and production, and of no other stage', () => {
    expect(STAGES.filter((stage) => readConfig({ stage }).retain)).toEqual(['staging', 'production']);
  });

  test.each([
    { name: 'a new account, whose quota is 10, in dev', context: { stage: 'dev', accountConcurrency: '10' } },
    {
      name: 'reservations that leave exactly 100, in production',
      context: { stage: 'production', accountConcurrency: '216' },
    },
  ])('fits $name', ({ context }) => {
    expect(readConfig(context).settings.accountConcurrency).toBe(Number(context.accountConcurrency));
  });

  test('is quick and small locally', () => {
    expect(stageSettings('local')).toMatchObject({
      resolution: 10_000,
      purgeAfter: 0,
      batchWindow: 0,
      cacheReplicas: 0,
    });
  });
});

describe('a wrong configuration is one sentence that names the field', () => {
  test.each([
    { context: { stage: 'prod' }, says: /^stage: "prod" is not one of local, dev, staging, production$/ },
    { context: { settings: '{' }, says: /^settings: "\{" is not a JSON object/ },
    { context: { settings: '[]' }, says: /^settings: "\[\]" is not a JSON object/ },
    { context: { settings: '{"windw":"20s"}' }, says: /^settings: .*windw/ },
    { context: { windw: '20s' }, says: /^windw: no such setting/ },
    { context: { window: 'soon' }, says: /^window: "soon" is not a duration/ },
    {
      context: { window: '60' },
      says: /^window: 60 has no unit: write 60s, or another of ms, s, m, h and d$/,
    },
    { context: { settings: { window: 60_000 } }, says: /^window: 60000 has no unit: write 60000s/ },
    { context: { recordAge: '0' }, says: /^recordAge: 0 has no unit/ },
    { context: { window: '-1h' }, says: /^window: "-1h" is not a duration/ },
    {
      context: { window: '2h', maxSampleAge: '1h' },
      says: /^maxSampleAge: 1h is shorter than the window of 2h$/,
    },
    {
      context: { window: '1h', flushDelay: '30m', streamRetention: '24h', recordAge: '23h' },
      says: /^recordAge: 23h must be below streamRetention \(1d\) by window \+ flushDelay \(90m\) and 1h/,
    },
    {
      context: { ingesterTimeout: '61s' },
      says: /^ingesterTimeout: 61s is not between 70s, of which 60s|between 70s, of which 1m/,
    },
    { context: { window: '7s' }, says: /^window: .*does not divide a day/ },
    { context: { resolution: '7m' }, says: /^resolution: / },
    { context: { maxSampleAge: '10m' }, says: /^maxSampleAge: / },
    {
      context: { streamRetention: '24h', window: '12h', flushDelay: '2h' },
      says: /^streamRetention: .*a replay has holes/,
    },
    { context: { streamRetention: '366d' }, says: /^streamRetention: .*24h to 365d/ },
    { context: { streamRetention: '90001s' }, says: /^streamRetention: .*whole number of hours/ },
    { context: { warmTtl: '3d' }, says: /^warmTtl: .*before they are archived/ },
    { context: { retention: '20d' }, says: /^retention: / },
    { context: { batchWindow: '500ms' }, says: /^batchWindow: 500ms is not whole seconds/ },
    { context: { batchSize: '20000' }, says: /^batchSize: / },
    { context: { streamShards: '0' }, says: /^streamShards: .* \("0"\)$/ },
    { context: { partitions: 'x' }, says: /^partitions: .* \("x"\)$/ },
    { context: { engine: 'memcached' }, says: /^engine: / },
    { context: { cacheNodeType: 'm7g.large' }, says: /^cacheNodeType: "m7g.large" is not a node type/ },
    {
      context: { stage: 'production', cacheReplicas: '0' },
      says: /^cacheReplicas: production needs at least 1/,
    },
    { context: { logRetention: '8d' }, says: /^logRetention: 8d is not a retention/ },
    { context: { stage: 'production', logRetention: '1d' }, says: /^logRetention: production/ },
    { context: { stage: 'production', zones: '1' }, says: /^zones: production needs at least 2/ },
    { context: { zones: '4' }, says: /^zones: / },
    { context: { purgeAfter: '10s' }, says: /^purgeAfter: .*a query that runs/ },
    { context: { streamRetention: '40d', warmTtl: '36d' }, says: /^warmTtl: .*a replay writes items/ },
    { context: { recordAge: '72h' }, says: /^recordAge: .*below streamRetention/ },
    // 71 h are an hour less than the stream's retention. That is too long for a window of one hour and a delay of 31
    // minutes.
    { context: { recordAge: '71h' }, says: /^recordAge: .*by window \+ flushDelay .* only memory holds it$/ },
    {
      context: { recordAge: '50h', window: '12h', flushDelay: '10h', streamRetention: '72h' },
      says: /^recordAge: /,
    },
    { context: { recordAge: '10m' }, says: /^recordAge: .*12h/ },
    { context: { ingesterTimeout: '60s' }, says: /^ingesterTimeout: .*calls that a store does not answer/ },
    { context: { ingesterTimeout: '16m' }, says: /^ingesterTimeout: .*Lambda's 15m/ },
    { context: { requestBurst: '10' }, says: /^requestBurst: .*below requestsPerSecond/ },
    { context: { flusherConcurrency: '2' }, says: /^flusherConcurrency: .*drain finds no room/ },
    {
      context: { stage: 'production', accountConcurrency: '215' },
      says: /^accountConcurrency: 215 is below queryConcurrency \(100\) \+ flusherConcurrency \(16\) \+ postConcurrency \(0\) \+ 100 that AWS keeps unreserved; lower those, or ask AWS for a larger quota \(L-B99A9384\)$/,
    },
    { context: { accountConcurrency: '10', flusherConcurrency: '3' }, says: /^accountConcurrency: / },
    { context: { postEndpoint: 'url' }, says: /^postEndpoint: url needs postConcurrency/ },
    {
      context: { postEndpoint: 'url', postConcurrency: '950' },
      says: /^accountConcurrency: 1000 is below .*postConcurrency \(950\)/,
    },
    { context: { domainName: 'metrics.example.com' }, says: /^certificateArn: .*given together/ },
    {
      context: { domainName: 'https://example.com/', certificateArn: CERTIFICATE },
      says: /^domainName: .*not a host name/,
    },
    {
      context: { domainName: 'example.com', certificateArn: 'certificate/1' },
      says: /^certificateArn: .*not the ARN/,
    },
    { context: { alarmEmail: 'everyone' }, says: /^alarmEmail: .*not an e-mail address/ },
    { context: { monthlyBudget: '-1' }, says: /^monthlyBudget: / },
    { context: { cacheDurability: 'sync', engine: 'redis' }, says: /^cacheDurability: .*engine valkey/ },
    { context: { cacheDurability: 'sync', cacheReplicas: '0' }, says: /^cacheDurability: .*cacheReplicas/ },
    {
      context: { cacheDurability: 'async', cacheReplicas: '1', cacheNodeType: 'cache.t4g.small' },
      says: /^cacheDurability: .*does not run on cache.t4g.small/,
    },
  ])('$context', ({ context, says }) => {
    let message = '';
    try {
      readConfig(context);
    } catch (error) {
      expect(error).toBeInstanceOf(InvalidSettingError);
      message = (error as Error).message;
    }
    expect(message).toMatch(says);
    expect(message).not.toContain('\n');
  });
});
