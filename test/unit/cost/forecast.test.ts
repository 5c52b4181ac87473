import { totalOf } from '../../../shared/cost/cost-line';
import { type Load, needsOf, recordsOfRequest, samplesOfMonth } from '../../../shared/cost/demand';
import { forecast } from '../../../shared/cost/forecast';
import { type MeasuredUnits, measuredUnitsSchema } from '../../../shared/cost/measured-units';
import { idleCost, type StageTemplate } from '../../../shared/cost/stage-cost';
import type { FunctionName, Unit } from '../../../shared/platform/names';
import { FUNCTIONS } from '../../../shared/platform/names';
import { parseSettings } from '../../../shared/platform/settings';

const units = (used: Partial<Record<Unit, number>>) => used;
const nothing = { ms: 100, units: units({}) };

/** A run with round figures: 1 M samples, and records of one put unit each. */
const measured: MeasuredUnits = {
  load: { hosts: 10, metrics: 100, partitions: 10, looksUpHosts: true },
  posts: [
    {
      samplesPerRequest: 100,
      requests: 1000,
      streamBytes: 1_000_000,
      units: { FunctionMbMs: 1000 * 2 * 1024, PutUnits: 1000 },
    },
    {
      samplesPerRequest: 500,
      requests: 1000,
      streamBytes: 5_000_000,
      units: { FunctionMbMs: 1000 * 6 * 1024, PutUnits: 5000 },
    },
  ],
  idle: {
    ingester: nothing,
    flusher: { ms: 100, units: { ReadUnits: 2, WriteUnits: 1 } },
    archiver: nothing,
    recovery: nothing,
    operator: nothing,
    evaluator: nothing,
    canary: nothing,
  },
  windows: {
    '1h': {
      samples: 1_000_000,
      hotBytes: 10_000_000,
      ingester: { invocations: 10, units: { FunctionMbMs: 1_024_000, WriteUnits: 100 } },
      flusher: { windows: 1000, units: { FunctionMbMs: 10_240_000, WriteUnits: 1900, ReadUnits: 1000 } },
      warmBytes: 1_170_000,
      archiver: { objects: 10, units: { FunctionMbMs: 2_048_000, ReadUnits: 1000, ObjectPuts: 10 } },
      coldBytes: 1_000_000,
      rollups: {
        first: { FunctionMbMs: 1_024_000, WriteUnits: 10, ReadUnits: 20 },
        perDay: { FunctionMbMs: 102_400, ObjectGets: 10 },
      },
      sweep: { layouts: 10, units: { ReadUnits: 4, FunctionMbMs: 10_240 } },
    },
  },
  reads: { requests: 10, warm: { FunctionMbMs: 10 * 1024 * 10, ReadUnits: 100 }, cold: {} },
};

const template: StageTemplate = {
  settings: parseSettings({
    cacheNodeType: 'cache.m7g.large',
    cacheShards: 3,
    cacheReplicas: 1,
    streamShards: 2,
    flushDelay: '9m',
    warmTtl: '34d',
    retention: '100d',
  }),
  ticks: [
    { name: 'flusher', perMonth: 43_800 },
    { name: 'archiver', perMonth: 730 },
  ],
  memoryMb: Object.fromEntries(FUNCTIONS.map((name) => [name, 1024])) as Record<FunctionName, number>,
  isTraced: (name) => name === 'flusher',
  alarmMetrics: 50,
  dashboards: 1,
};

/** 1 M samples a second: 2,628 billion a month. */
const load: Load = {
  series: 60_000_000,
  intervalMs: 60_000,
  retentionMs: 100 * 86_400_000,
  samplesPerRequest: 500,
  reads: 1_000_000,
  tenants: 1,
};

const dollarsOf = (lines: ReturnType<typeof forecast>) =>
  Object.fromEntries(lines.map(({ what, dollars }) => [what, Math.round(dollars * 100) / 100]));

describe('the cost of a load', () => {
  const lines = dollarsOf(forecast(measured, load, template));

  test.each([
    ['a month has 2,628,000 s', samplesOfMonth(load) / 1e12, 2.628],
    ['5,256 M requests at $1.00 a million', lines['API requests'], 5256],
    ['their invocations at $0.20, and 31.536 M GB-s of 6 ms with 1 GB at $0.0000133334', lines.post, 1471.68],
    // The five hosts of a request lie in 8 * (1 - (7 / 8) ** 5) = 3.897 of the 8 partitions on average.
    ['20,481 M put units at $0.014', lines['stream puts'], 286.74],
    // 10 MB and 10,000 records a second, on shards that are half full: 20 shards.
    ["the stage's 2 shards for 730 h at $0.035", lines['stream shards'], 51.1],
    // 20 shards with a batch each second: 52.56 M. Batches of at most 500 records need no more.
    ['52.56 M invocations and 2.628 M GB-s of the ingester', lines.ingester, 45.55],
    ['26.28 M GB-s of the flusher', lines.flusher, 350.4],
    ['5.256 M GB-s of the archiver', lines.archiver, 70.08],
    // 2,628 M windows of 1,170 bytes and keys of 230, rounded up: 1.867 units each. 262.8 M units are the ingester's.
    ['5,170 M write units at $0.625', lines['warm writes'], 3231.11],
    // The measured run took 2,000 units for a million samples. 600,000 hosts are looked up each hour: 438 M.
    ['5,694 M read units at $0.125', lines['warm reads'], 711.75],
    // 35 days of 86.4 G samples at 1.5 bytes each: 4,536 GB.
    ['4,536 GB warm at $0.45', lines['warm storage'], 2041.2],
    // 940 bytes for each of 600,000 sources and 100 days.
    ['56.4 GB of the directory at $0.45', lines['directory storage'], 25.38],
    ['8,640 GB archived, and 30 days of removed ones, at $0.023', lines['archive storage'], 258.34],
    // 2,628 GB in parts of 8 MiB: 313,282 PUTs. A day of a partition has 10.8 GB, so 43 objects, which are begun, completed
    // and listed: 21,170 requests.
    ['requests of the archive', lines['archive requests'], 1.67],
    // A month has 1,825 M days of a series, 1.825 M times the 1,000 of the measured run. Each is added to
    // rollup objects that have 21.68 days on average.
    // The two objects of a series have 7,312 bytes, which are read, and written with 273 more, in objects of 64 MiB:
    // 0.2 M GETs and PUTs. The day of each source is read twice: 36.5 M GETs.
    ['5,781,600 GB-s, 18.25 M write, 36.5 M read units and 36.72 M GETs of rollups', lines.rollups, 108.78],
    // 273 bytes of a day for 100 days and 1,380 in objects of months and a year: 1,851 GB. 30 days of replaced objects:
    // 13,162 GB.
    ['rollups that are kept and replaced', lines['rollup storage'], 345.29],
    // 60 M series for 61 minutes at 10 bytes: 36.6 GB. A shard takes 2.3925 GB: 16 shards of two nodes.
    ["the stage's 6 nodes for 730 h at $0.1264", lines['cache nodes'], 553.6],
    // 600,000 queries of layouts and 16 of the list of sources, 730 times: 219 M read units and 438,000 GB-s.
    ['the sweep of each hour', lines.sweep, 27.38 + 5.84],
    ['nothing that is not traced leaves traces', lines.traces, 0],
    // 2,628 G samples of 10 bytes go in and out, half of them to another zone.
    ['26,280 GB between zones at $0.02', lines['transfer between zones'], 525.6],
    ['what comes in is free', lines['transfer in'], 0],
    // A million requests cost $1.20. Each takes 10 ms with 1 GB, 10 read units and 40 KB.
    ['a million graphs', lines.reads, 1.2 + 0.13 + 1.25 + 3.6],
  ])('%s', (_name, actual, expected) => {
    expect(actual).toBeCloseTo(expected, 1);
  });

  test('a host that posts by itself pays five times as much for requests, and the same for samples', () => {
    const alone = dollarsOf(forecast(measured, { ...load, samplesPerRequest: 100 }, template));
    expect(alone['API requests']).toBe(5 * 5256);
    // 26,280 M records.
    expect(alone['stream puts']).toBeCloseTo(367.92);
    expect(alone['warm writes']).toBe(lines['warm writes']);
  });

  test.each([
    { samples: 100, partitions: 16, records: 1 },
    { samples: 500, partitions: 1, records: 1 },
    { samples: 500, partitions: 16, records: 4.41 },
    { samples: 100_000, partitions: 16, records: 16 },
  ])(
    'a request of $samples samples has $records records in $partitions partitions',
    ({ samples, partitions, records }) => {
      expect(recordsOfRequest(100, samples, partitions)).toBeCloseTo(records, 2);
    },
  );

  test('a size between two that were measured lies between them', () => {
    const between = dollarsOf(forecast(measured, { ...load, samplesPerRequest: 300 }, template));
    // 8,760 M requests of 4 ms.
    expect(between.post).toBeCloseTo(8760 * 0.2 + 35.04 * 13.3334, 0);
  });

  test.each([
    { series: load.series, needs: { streamShards: 20, cacheShards: 16 } },
    { series: 1, needs: { streamShards: 1, cacheShards: 1 } },
  ])('of $series series needs $needs', ({ series, needs }) => {
    expect(needsOf(measured, { ...load, series }, template)).toEqual(needs);
  });

  test('a stream on demand is paid by the hour and the byte, each record at least 1 KB', () => {
    const settings = {
      ...template.settings,
      streamMode: 'on-demand' as const,
      streamRetention: 3 * 86_400_000,
    };
    const onDemand = dollarsOf(forecast(measured, load, { ...template, settings }));
    expect(onDemand['stream puts']).toBe(0);
    expect(onDemand).not.toHaveProperty('stream shards');
    // 26,280 GB in, once out, 2 of 30.4 days kept: $29.20, $2,102.40, $1,051.20 and $172.80.
    expect(onDemand['stream on demand']).toBeCloseTo(29.2 + 2102.4 + 1051.2 + 172.8, 0);
  });

  test('a young stage stores less than a full one', () => {
    const gbAt = (ageMs: number | undefined, name: string) =>
      forecast(measured, { ...load, ageMs }, template).find(({ what }) => what === name)!.billed.coldGbMonth;
    // A day is archived two and a half days after it began, so ten days are. A day has 86.4 G samples of a byte each.
    const ageMs = 12.5 * 86_400_000;
    expect(gbAt(ageMs, 'archive storage')).toBeCloseTo(864);
    // Rollups of ten days in two objects, and nine replaced objects, which had five days each. The first day replaces none.
    expect(gbAt(ageMs, 'rollup storage')).toBeCloseTo(60e6 * 1e-9 * (10 * 273 + 1380 + 9 * (1380 + 5 * 273)));
    for (const name of ['archive storage', 'rollup storage'])
      expect(gbAt(1000 * 86_400_000, name)).toBe(gbAt(undefined, name));
    for (const name of ['archive storage', 'rollup storage']) expect(gbAt(86_400_000, name)).toBe(0);
    // Until the first day is old enough, nothing is archived.
    const {
      'archive requests': requests,
      rollups,
      archiver,
    } = dollarsOf(forecast(measured, { ...load, ageMs: 2 * 86_400_000 }, template));
    expect([requests, rollups, archiver]).toEqual([0, 0, 0]);
  });

  test('a window that was not measured is named, with those that were', () => {
    const settings = { ...template.settings, window: 2 * 3_600_000 };
    expect(() => forecast(measured, load, { ...template, settings })).toThrow(
      'window: 2h was not measured, only 1h; npm run bench -- units --windows 2h',
    );
  });

  test.each([
    // 0.7 GB: a shard of it holds 1.16 GB, of the next smaller 0.51 GB.
    { series: 1_000_000, type: 'cache.t4g.medium', shards: 1 },
    { series: 1_000_000, type: 'cache.t4g.small', shards: 2 },
    { series: 1, type: 'cache.t4g.micro', shards: 1 },
  ])('$series series need $shards shards of $type', ({ series, type, shards }) => {
    const settings = { ...template.settings, cacheNodeType: type };
    expect(needsOf(measured, { ...load, series }, { ...template, settings }).cacheShards).toBe(shards);
  });

  test('a node type without a price is named', () => {
    const settings = { ...template.settings, cacheNodeType: 'cache.x9g.tiny' };
    expect(() => forecast(measured, load, { ...template, settings })).toThrow(
      'cacheNodeType: the price of cache.x9g.tiny is not known',
    );
  });
});

describe('the cost of an idle stage', () => {
  const lines = idleCost(measured, template);

  test.each([
    ['cache nodes', 6 * 0.1264 * 730],
    ['stream shards', 2 * 0.035 * 730],
    // Invocations: 43,800, 730 and the heartbeats of two shards, 43,800 each. Each takes 100 ms with 1 GB.
    ['scheduled functions', 0.13213 * 0.2 + 13_213 * 0.0000133334],
    ['canary', 0],
    ['scheduled table units', 0.0876 * 0.125 + 0.0438 * 0.625],
    ['scheduled lists', 0.00292 * 5],
    ['scheduled traces', 0.0438 * 5],
    ['alarms', 5],
    ['dashboards', 3],
  ])('%s', (what, dollars) => {
    expect(dollarsOf(lines)[what]).toBeCloseTo(dollars, 2);
  });

  test('is part of what a load costs', () => {
    const ofLoad = forecast(measured, { ...load, series: 1, reads: 0 }, template);
    expect(totalOf(ofLoad)).toBeGreaterThan(totalOf(lines.slice(2)));
    expect(ofLoad.slice(-6)).toEqual(lines.slice(-6));
  });
});

test('every line says how its amount is computed', () => {
  for (const { because } of forecast(measured, load, template)) expect(because).not.toBe('');
});

test('a file of units that lacks something is refused', () => {
  expect(measuredUnitsSchema.safeParse(measured).success).toBe(true);
  expect(measuredUnitsSchema.safeParse({ ...measured, posts: measured.posts.slice(1) }).success).toBe(false);
  expect(measuredUnitsSchema.safeParse({ ...measured, idle: {} }).success).toBe(false);
});
