import {
  type Judgement,
  judgeLines,
  judgeMissing,
  judgeSamples,
  statusOf,
  worstOf,
} from '../../../shared/monitors/judge';
import { type JudgedSamples, percentMetricOf } from '../../../shared/monitors/percent-metrics';
import { isInScope, watches } from '../../../shared/monitors/scope';
import { advanceTrack, closedByHand, type Track, type TrackRules } from '../../../shared/monitors/tracks';

const MINUTE_MS = 60_000;
const START_MS = 29_000_000 * MINUTE_MS;

/** Points at minutes since the start; a minute without one is left out. */
function samplesOf(values: readonly (number | undefined)[]): JudgedSamples {
  const present = values.flatMap((value, i) =>
    value === undefined ? [] : [[START_MS + i * MINUTE_MS, value] as const],
  );
  return {
    timestamps: Float64Array.from(present, ([ms]) => ms),
    values: Float64Array.from(present, ([, value]) => value),
  };
}

const over = (warning: number | null, critical: number | null, duration = 1) => ({
  operator: '>' as const,
  warning,
  critical,
  duration,
});

test.each([
  { name: 'a threshold itself is not exceeded', value: 3, warning: 3, critical: 5, status: 'OK' },
  { name: 'above the warning', value: 3.1, warning: 3, critical: 5, status: 'WARNING' },
  { name: 'critical wins', value: 6, warning: 3, critical: 5, status: 'CRITICAL' },
  { name: 'without a critical threshold', value: 6, warning: 3, critical: null, status: 'WARNING' },
  { name: 'without a warning', value: 4, warning: null, critical: 5, status: 'OK' },
])('$name: $status', ({ value, warning, critical, status }) => {
  expect(statusOf(value, { operator: '>', warning, critical })).toBe(status);
  const negated = { warning: warning && -warning, critical: critical && -critical };
  expect(statusOf(-value, { operator: '<', ...negated })).toBe(status);
});

test.each([
  {
    name: 'the newest sample alone',
    samples: [9, 1],
    duration: 1,
    at: 1,
    judged: { status: 'OK', value: 1 },
  },
  {
    name: 'an average of samples, not of minutes: a missing one is made up by an older one',
    samples: [10, undefined, 20, 30],
    duration: 3,
    at: 3,
    judged: { status: 'CRITICAL', value: 20 },
  },
  { name: 'too few samples', samples: [9, 9], duration: 3, at: 1, judged: undefined },
  { name: 'no samples', samples: [], duration: 1, at: 1, judged: undefined },
  {
    name: 'a sample of 20 minutes ago',
    samples: [9],
    duration: 1,
    at: 20,
    judged: { status: 'WARNING', value: 9 },
  },
  { name: 'an older sample', samples: [9], duration: 1, at: 21, judged: undefined },
  {
    name: 'samples of the future are left out',
    samples: [1, 9],
    duration: 1,
    at: 0.5,
    judged: { status: 'OK', value: 1 },
  },
  {
    name: 'samples of the last 24 hours',
    samples: [100, ...Array<undefined>(1440).fill(undefined), 1],
    duration: 2,
    at: 1441,
    judged: undefined,
  },
  {
    name: 'a NaN is no sample',
    samples: [9, Number.NaN],
    duration: 1,
    at: 1,
    judged: { status: 'WARNING', value: 9 },
  },
])('a metric is judged by $name', ({ samples, duration, at, judged }) => {
  const found = judgeSamples(samplesOf(samples), over(8, 15, duration), START_MS + at * MINUTE_MS);
  expect(found && { status: found.status, value: found.value }).toEqual(judged);
});

test.each([
  { minutes: 9, status: undefined },
  { minutes: 10, status: 'WARNING' },
  { minutes: 29, status: 'WARNING' },
  { minutes: 30, status: 'CRITICAL' },
  { minutes: 3000, status: 'CRITICAL' },
])('samples missing for $minutes minutes are judged $status', ({ minutes, status }) => {
  const durations = { missingDurationWarning: 10, missingDurationCritical: 30 };
  expect(judgeMissing(START_MS, durations, START_MS + minutes * MINUTE_MS)?.status).toBe(status);
});

test.each([
  { name: 'one line', values: [9], judged: { status: 'WARNING', value: 9 } },
  { name: 'no value', values: [], judged: { status: 'UNKNOWN', message: 'the expression yields no value' } },
  {
    name: 'NaN',
    values: [Number.NaN],
    judged: { status: 'UNKNOWN', message: 'the expression yields no value' },
  },
  {
    name: 'two lines',
    values: [1, 2],
    judged: { status: 'UNKNOWN', message: 'the expression yields 2 lines instead of one' },
  },
])('an expression of $name', ({ values, judged }) => {
  expect(judgeLines(values, { operator: '>', warning: 8, critical: null })).toEqual(judged);
});

test.each([
  {
    metric: 'cpu%',
    metrics: { 'cpu.user.percentage': 30, 'cpu.idle.percentage': 150, 'cpu.system.percentage': 20 },
    values: [25],
  },
  { metric: 'memory%', metrics: { 'memory.used': 3, 'memory.total': 4, 'memory.free': 1 }, values: [75] },
  { metric: 'swap%', metrics: { 'memory.swap_total': 8, 'memory.swap_free': 6 }, values: [25] },
  { metric: 'swap%', metrics: { 'memory.swap_total': 0, 'memory.swap_free': 0 }, values: [] },
  {
    metric: 'disk%',
    metrics: {
      'filesystem.vda.used': 9,
      'filesystem.vda.size': 10,
      'filesystem.vdb.used': 1,
      'filesystem.vdb.size': 4,
    },
    values: [90, 25],
  },
  { metric: 'disk%', metrics: { 'filesystem.vda.used': 9 }, values: [] },
])('$metric of $metrics is $values', ({ metric, metrics, values }) => {
  const percent = percentMetricOf(metric)!;
  const read = Object.entries(metrics).filter(([name]) => new RegExp(`^(?:${percent.names})$`).test(name));
  const found = percent.compute(new Map(read.map(([name, value]) => [name, samplesOf([value])])));
  expect(found.map((samples) => samples.values[0])).toEqual(values);
});

test('of a host with several disks the worst is judged', () => {
  const [ok, warning, critical] = (['OK', 'WARNING', 'CRITICAL'] as const).map(
    (status): Judgement => ({ status }),
  );
  expect(worstOf([ok!, critical!, warning!])).toBe(critical);
  expect(worstOf([])).toBeUndefined();
});

test.each([
  { name: 'no scope', scopes: {}, watched: true },
  { name: 'its service', scopes: { scopes: ['shop'] }, watched: true },
  { name: 'its role', scopes: { scopes: ['shop:db'] }, watched: true },
  { name: 'its role as Mackerel writes it', scopes: { scopes: ['shop: db'] }, watched: true },
  { name: 'another role', scopes: { scopes: ['shop:web', 'blog'] }, watched: false },
  { name: 'an excluded role', scopes: { scopes: ['shop'], excludeScopes: ['shop: db'] }, watched: false },
  { name: 'another excluded role', scopes: { excludeScopes: ['shop:web'] }, watched: true },
  { name: 'a name of Object', scopes: { scopes: ['constructor'] }, watched: false },
])('a monitor with $name watches a host of shop:db: $watched', ({ scopes, watched }) => {
  expect(watches(scopes, { shop: ['db'] })).toBe(watched);
  expect(isInScope({}, ['shop'])).toBe(false);
});

/**
 * Judges values, one a minute; undefined means that nothing was posted. Returns the events, as `minute kind status`.
 */
function run(
  values: readonly (number | undefined)[],
  rules: Partial<TrackRules> & {
    readonly down?: (minute: number) => boolean;
  } = {},
): string[] {
  const happened: string[] = [];
  let track: Track | undefined;
  values.forEach((value, minute) => {
    const nowMs = START_MS + minute * MINUTE_MS;
    const judgement =
      value === undefined ? undefined : { status: statusOf(value, over(1, 2)), sampleMs: nowMs, value };
    const { down, ...given } = rules;
    const context = {
      id: 'm',
      maxCheckAttempts: 1,
      isDown: down?.(minute) ?? false,
      opensAfterDowntime: false,
      ...given,
      nowMs,
    };
    const next = advanceTrack('h', track, judgement, context);
    track = next.track;
    if (next.transition !== undefined)
      happened.push(`${minute} ${next.transition.kind} ${next.transition.status}`);
  });
  return happened;
}

const none = undefined;

describe('an alert', () => {
  test.each([
    { name: 'opens and closes', values: [0, 3, 3, 0], happened: ['1 opened CRITICAL', '3 closed OK'] },
    {
      name: 'tells three times of OK, WARNING, CRITICAL, OK',
      values: [0, 1.5, 3, 0],
      happened: ['1 opened WARNING', '2 changed CRITICAL', '3 closed OK'],
    },
    {
      name: 'stays open while nothing is posted',
      values: [3, none, none, 0],
      happened: ['0 opened CRITICAL', '3 closed OK'],
    },
    {
      name: 'opens after three samples in a row',
      values: [3, 3, 0, 3, 1.5, 3],
      maxCheckAttempts: 3,
      happened: ['5 opened CRITICAL'],
    },
    {
      name: 'opens with the last status',
      values: [3, 3, 1.5],
      maxCheckAttempts: 3,
      happened: ['2 opened WARNING'],
    },
    {
      name: 'counts samples and not minutes',
      values: [3, none, none, 3, none, 3],
      maxCheckAttempts: 3,
      happened: ['5 opened CRITICAL'],
    },
    {
      name: 'closes by one normal sample',
      values: [3, 3, 0, 3],
      maxCheckAttempts: 2,
      happened: ['1 opened CRITICAL', '2 closed OK'],
    },
    {
      name: 'is told again after its interval since it was told last',
      values: [3, 3, 3, 1.5, 1.5, 1.5, 1.5, 1.5, none, none, 0],
      repeatMs: 2 * MINUTE_MS,
      happened: [
        '0 opened CRITICAL',
        '2 repeated CRITICAL',
        '3 changed WARNING',
        '5 repeated WARNING',
        '7 repeated WARNING',
        '9 repeated WARNING',
        '10 closed OK',
      ],
    },
    {
      name: 'does not open in a downtime, nor after it until it was normal',
      values: [0, 3, 3, 3, 0, 3],
      down: (minute: number) => minute < 2,
      happened: ['5 opened CRITICAL'],
    },
    {
      name: 'of a connection opens after a downtime',
      values: [0, 3, 3, 3, 0],
      down: (minute: number) => minute < 2,
      opensAfterDowntime: true,
      happened: ['2 opened CRITICAL', '4 closed OK'],
    },
    {
      name: 'that is open is not repeated in a downtime, and changes and closes',
      values: [3, 3, 3, 1.5, 0],
      repeatMs: MINUTE_MS,
      down: (minute: number) => minute > 0,
      happened: ['0 opened CRITICAL', '3 changed WARNING', '4 closed OK'],
    },
  ])('$name', ({ name: _, values, happened, ...rules }) => {
    expect(run(values, rules)).toEqual(happened);
  });

  const rules: TrackRules = {
    id: 'm',
    maxCheckAttempts: 3,
    nowMs: START_MS,
    isDown: false,
    opensAfterDowntime: false,
  };
  const abnormal = (sampleMs?: number): Judgement => ({
    status: 'CRITICAL',
    ...(sampleMs !== undefined && { sampleMs }),
  });

  test('counts each sample once, and no older one', () => {
    let { track } = advanceTrack('h', undefined, abnormal(1000), rules);
    for (const sampleMs of [1000, 1000, 500])
      ({ track } = advanceTrack('h', track, abnormal(sampleMs), rules));
    expect(track).toEqual({ key: 'h', attempts: 1, sampleMs: 1000 });
    expect(advanceTrack('h', track, { status: 'OK', sampleMs: 500 }, rules).track).toBe(track);
  });

  test('opens at once for missing samples, and closes with the next sample', () => {
    const { track, transition } = advanceTrack('', undefined, abnormal(), rules);
    expect(transition).toMatchObject({ kind: 'opened', status: 'CRITICAL' });
    expect(track!.sampleMs).toBeUndefined();
    expect(advanceTrack('', track, { status: 'OK', sampleMs: 1 }, rules).transition?.kind).toBe('closed');
  });

  test('that was closed by hand opens again with the next abnormal sample', () => {
    let advanced = advanceTrack('h', undefined, abnormal(1000), { ...rules, maxCheckAttempts: 1 });
    const first = advanced.transition!.alert.id;
    const closed = closedByHand(advanced.track!, 'known');
    expect(closed.transition).toMatchObject({
      kind: 'closed',
      trigger: 'manual',
      reason: 'known',
      status: 'OK',
    });
    advanced = advanceTrack('h', closed.track, abnormal(1000), rules);
    expect(advanced.transition).toBeUndefined();
    const later = { ...rules, nowMs: START_MS + MINUTE_MS };
    advanced = advanceTrack('h', { ...advanced.track!, attempts: 3 }, abnormal(2000), later);
    expect(advanced.transition).toMatchObject({ kind: 'opened' });
    expect(advanced.transition!.alert.id > first).toBe(true);
  });

  test('shows a changed message and notifies nobody', () => {
    const check = (message: string, sampleMs: number): Judgement => ({
      status: 'CRITICAL',
      message,
      sampleMs,
    });
    const once = { ...rules, maxCheckAttempts: 1 };
    const { track } = advanceTrack('c', undefined, check('a', 1), once);
    const same = advanceTrack('c', track, check('a', 2), once);
    expect(same.transition).toBeUndefined();
    expect(advanceTrack('c', same.track, check('b', 3), once).transition).toMatchObject({
      kind: 'updated',
      message: 'b',
    });
  });
});
