import { setTimeout as sleep } from 'node:timers/promises';
import { createTenant } from '../ops/create-tenant';
import type { Functions } from '../ops/invoke';
import { TenantApi } from '../ops/tenant-api';

/** Result of comparing what rules wrote with the samples and with a model of the alert. */
export interface RuleCheck {
  /** Number of ticks for which the recording rule wrote a sample. */
  readonly ticks: number;
  /** Missing ticks, wrong values and wrong states of alerts. */
  readonly flaws: readonly string[];
}

const TENANT = 'ruled';
const TICK_MS = 30_000;
/**
 * The local stage's `ruleQueryOffset`, in ms: a tick evaluates its rules at the tick's time minus this offset, and
 * their results get that time.
 */
const OFFSET_MS = 5_000;
const SOURCES = ['a', 'b', 'c'];
const LIMIT = 60;
/** Time for which the limit must be exceeded, in seconds. An alert fires at the second tick above the limit. */
const FOR_S = 30;
const GROUP = {
  name: 'soak',
  interval: '30s',
  rules: [
    { record: 'soak:load:sum', expr: 'sum(soak_load)' },
    { alert: 'Loaded', expr: `soak_load > ${LIMIT}`, for: `${FOR_S}s` },
  ],
};
/** Samples are posted for the duration of the load plus this time, in ms. */
const MARGIN_MS = 20 * 60_000;
const RETRY_MS = 500;

/** One series in a query's response: its labels, and its samples as pairs of time (s) and value. */
interface Matrix {
  readonly metric: Readonly<Record<string, string>>;
  readonly values: readonly (readonly [number, string])[];
}

/** A tenant whose samples are all stored before faults begin, so that the results of its rules are known. */
export class RuledTenant {
  private constructor(
    private readonly api: TenantApi,
    private readonly functions: Functions,
  ) {}

  /**
   * Creates the tenant, posts its samples and adds its rules.
   *
   * @param lengthMs duration of the load
   */
  static async start(url: string, functions: Functions, lengthMs: number): Promise<RuledTenant> {
    const { key } = await createTenant(functions, TENANT);
    const api = new TenantApi(url, key);
    const firstTick = Math.floor(Date.now() / TICK_MS) - 1;
    const ticks = Math.ceil((lengthMs + MARGIN_MS) / TICK_MS);
    const lines = Array.from({ length: ticks }, (_, i) => firstTick + i).flatMap((tick) =>
      SOURCES.map((source, s) => `soak,source=${source} load=${loadOf(s, tick)} ${timeOf(tick)}`),
    );
    await api.text('POST', '/write?precision=s', lines.join('\n'), 'text/plain');
    while ((await seriesOf(api, 'soak_load')).length < SOURCES.length) await sleep(RETRY_MS);
    await api.text('POST', '/prometheus/config/v1/rules/soak', JSON.stringify(GROUP), 'application/yaml');
    const tenant = new RuledTenant(api, functions);
    // Wait for the first tick. From then on, every tick must be evaluated.
    while ((await seriesOf(api, 'soak:load:sum')).length === 0) {
      await tenant.evaluateNow();
      await sleep(RETRY_MS);
    }
    return tenant;
  }

  /** Runs the evaluator as the schedule does each minute. */
  evaluate(): Promise<unknown> {
    return this.functions.invoke('evaluator', {});
  }

  /** Runs the evaluator without waiting for further ticks. */
  private evaluateNow(): Promise<unknown> {
    return this.functions.invoke('evaluator', { atMs: Date.now() });
  }

  /**
   * Checks the results of all ticks up to a time. Repeats this while there are flaws, because samples may not have
   * arrived yet.
   *
   * @param isPatient called before each repetition; says whether to repeat
   */
  async check(untilMs: number, isPatient: () => boolean): Promise<RuleCheck> {
    const untilS = timeOf(Math.floor(untilMs / TICK_MS));
    for (;;) {
      const recorded = (await seriesOf(this.api, 'soak:load:sum'))[0]?.values ?? [];
      const lastS = recorded.at(-1)?.[0] ?? 0;
      const flaws = [
        ...(lastS >= untilS ? [] : [`no sample of the tick that reads ${untilS}; the last is of ${lastS}`]),
        ...flawsOfRecord(recorded),
        ...flawsOfAlerts(await seriesOf(this.api, 'ALERTS'), recorded),
      ];
      if (flaws.length === 0 || !isPatient()) return { ticks: recorded.length, flaws };
      await this.evaluateNow().catch(() => {});
      await sleep(RETRY_MS);
    }
  }
}

/** Returns the time of a tick's samples, as Unix time in seconds. */
function timeOf(tick: number): number {
  return (tick * TICK_MS - OFFSET_MS) / 1000;
}

/** Returns a load that exceeds the limit sometimes for one tick, sometimes for several ticks in a row. */
function loadOf(source: number, tick: number): number {
  return (tick * 29 + source * 37 + Math.floor(tick / 3) * 17) % 100;
}

function tickAt(timeS: number): number {
  return (timeS * 1000 + OFFSET_MS) / TICK_MS;
}

/** Reads the series of a metric over the last hours, without stale markers. */
async function seriesOf(api: TenantApi, metric: string): Promise<readonly Matrix[]> {
  const query = new URLSearchParams({ query: `${metric}[12h]`, time: String(Date.now() / 1000 + 3600) });
  for (;;) {
    const response = await api
      .json<{ data: { result: Matrix[] } }>('GET', `/prometheus/api/v1/query?${query}`)
      .catch(() => undefined);
    if (response !== undefined && !('warnings' in response)) return response.data.result;
    await sleep(RETRY_MS);
  }
}

/** Checks that every tick since the first has a sample that equals the expression. */
function flawsOfRecord(recorded: Matrix['values']): string[] {
  const [first] = recorded;
  if (first === undefined) return ['the recording rule wrote nothing'];
  return recorded.flatMap(([timeS, value], i) => {
    const expected = timeOf(tickAt(first[0]) + i);
    if (timeS !== expected) return [`the recording rule has a sample at ${timeS}, expected at ${expected}`];
    const sum = SOURCES.reduce((total, _, source) => total + loadOf(source, tickAt(timeS)), 0);
    return Number(value) === sum ? [] : [`soak:load:sum at ${timeS} is ${value}, expected ${sum}`];
  });
}

/** Checks that an alert is pending at its first tick above the limit and fires from the second on. */
function flawsOfAlerts(alerts: readonly Matrix[], recorded: Matrix['values']): string[] {
  const expected = new Set<string>();
  for (const [s, source] of SOURCES.entries()) {
    let activeS: number | undefined;
    for (const [timeS] of recorded) {
      if (loadOf(s, tickAt(timeS)) <= LIMIT) activeS = undefined;
      else {
        activeS ??= timeS;
        expected.add(`${source} ${timeS - activeS >= FOR_S ? 'firing' : 'pending'} at ${timeS}`);
      }
    }
  }
  const found = new Set(
    alerts.flatMap(({ metric: { source, alertstate }, values }) =>
      values.map(([timeS]) => `${source} ${alertstate} at ${timeS}`),
    ),
  );
  return [
    ...[...expected].filter((state) => !found.has(state)).map((state) => `alert missing: ${state}`),
    ...[...found].filter((state) => !expected.has(state)).map((state) => `alert unexpected: ${state}`),
  ];
}
