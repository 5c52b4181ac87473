import { AGGREGATES } from '../../../shared/model/aggregates';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../shared/model/duration';
import type { Random } from '../../faults/random';
import type { Point, Series } from '../model';
import type { Host, Stage, Tenant } from '../stage';
import { differenceOf, stepsOf } from '../steps';
import type { Actor } from './actor';

/** Maximum time until an acknowledged sample is readable, in ms, even during faults. */
const ARRIVES_WITHIN_MS = 30 * MINUTE_MS;
/** Share of the reads that begin with the oldest minute that a tenant may read. */
const OLDEST_SHARE = 0.15;
/** Maximum range for which the API returns samples as stored, in seconds. For longer ranges it aggregates them. */
const MOST_RANGE_S = 20 * 3600;

const minuteS = (ms: number) => Math.floor(ms / MINUTE_MS) * 60;

/**
 * Draws a range of a tenant's samples that can be compared. It begins an hour later than the retention does, because
 * samples disappear at some moment around the end of their retention.
 */
function rangeOf(stage: Stage, tenant: Tenant, random: Random): [number, number] | undefined {
  const first = Math.max(stage.startS, tenant.goneBeforeS, minuteS(stage.nowMs - tenant.retentionMs) + 3600);
  const last = minuteS(stage.nowMs);
  if (last <= first) return undefined;
  // Some reads begin with the oldest minute, whose day is removed next. Half of the others begin within the last
  // day, whose samples move between tiers.
  const from = random.chance(OLDEST_SHARE)
    ? first
    : random.chance(0.5)
      ? Math.max(first, last - random.integer(1, 1440) * 60)
      : minuteS(random.integer(first, last) * 1000);
  const to = Math.min(last, from + random.integer(1, MOST_RANGE_S / 60) * 60);
  return from < first ? [first, Math.max(first, to)] : [from, to];
}

async function readRaw(stage: Stage, tenant: Tenant, { hostId, name }: Series, from: number, to: number) {
  const query = new URLSearchParams({ name, from: String(from), to: String(to) });
  const path = `/api/v0/hosts/${hostId}/metrics?${query}`;
  return (await stage.insist<{ metrics: Point[] }>(tenant, 'GET', path))?.metrics ?? [];
}

interface Matrix {
  readonly data: {
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>;
      readonly values: readonly (readonly [number, string])[];
    }[];
  };
}

/** Reads all series of a host with PromQL, minute by minute. */
async function readHost(stage: Stage, tenant: Tenant, { id }: Host, from: number, to: number) {
  const query = new URLSearchParams({
    query: `last_over_time({host="${id}"}[1m])`,
    start: String(from),
    end: String(to),
    step: '60',
  });
  const body = await stage.insist<Matrix>(tenant, 'GET', `/prometheus/api/v1/query_range?${query}`);
  return new Map(
    (body?.data.result ?? []).map(({ metric, values }) => [
      metric.__name__!,
      values.map(([time, value]): Point => ({ time, value: Number(value) })),
    ]),
  );
}

/**
 * Repeats a comparison until it finds no flaws, or until the samples should have arrived.
 *
 * @param compare returns descriptions of flaws
 */
async function untilRight(
  stage: Stage,
  tenant: Tenant,
  compare: () => Promise<readonly string[]>,
): Promise<void> {
  const sinceMs = stage.nowMs;
  for (;;) {
    const flaws = await compare();
    if (flaws.length === 0 || tenant.deletedMs !== undefined) return;
    if (stage.nowMs > sinceMs + ARRIVES_WITHIN_MS) {
      for (const each of flaws.slice(0, 3))
        stage.flaw(`${tenant.name} reads ${each} (${flaws.length} flaws)`);
      return;
    }
    await stage.sleep(5 * MINUTE_MS);
  }
}

/** Compares all series of a host in a range with the model. */
export async function compareHost(stage: Stage, tenant: Tenant, host: Host, from: number, to: number) {
  const { moment } = stage.model;
  await untilRight(stage, tenant, async () => {
    const found = await readHost(stage, tenant, host, from, to);
    return host.series.flatMap((series) =>
      stage.model.flawsOf(series, found.get(series.name) ?? [], from, to, moment),
    );
  });
}

const raw: Actor = {
  name: 'read samples',
  everyMs: [10 * MINUTE_MS, 3 * HOUR_MS],
  act: async (stage, random) => {
    const chosen = stage.anyHost(random);
    const range = chosen && rangeOf(stage, chosen.tenant, random);
    if (range === undefined) return;
    const { tenant, host } = chosen!;
    const series = random.pick(host.series);
    const { moment } = stage.model;
    await stage.sleep(2 * MINUTE_MS);
    await untilRight(stage, tenant, async () =>
      stage.model.flawsOf(series, await readRaw(stage, tenant, series, ...range), ...range, moment),
    );
  },
};

const promql: Actor = {
  name: 'read by PromQL',
  everyMs: [30 * MINUTE_MS, 6 * HOUR_MS],
  act: async (stage, random) => {
    const chosen = stage.anyHost(random);
    const range = chosen && rangeOf(stage, chosen.tenant, random);
    if (range === undefined) return;
    await compareHost(stage, chosen!.tenant, chosen!.host, ...range);
  },
};

/** Makes reads in steps, for which the pipeline may use rollups, and compares the responses with the samples. */
const steps: Actor = {
  name: 'read steps',
  everyMs: [HOUR_MS, 12 * HOUR_MS],
  act: async (stage, random) => {
    const chosen = stage.anyHost(random);
    if (chosen === undefined) return;
    const { tenant, host } = chosen;
    const series = random.pick(host.series);
    const step = random.pick([300, 3_600, 3 * 3_600, DAY_MS / 1000]);
    const last = Math.floor((minuteS(stage.nowMs) - 2 * 3600) / step) * step - 60;
    const earliest = Math.max(
      stage.startS,
      tenant.goneBeforeS,
      last - Math.min(4 * DAY_MS, tenant.retentionMs) / 1000,
    );
    const first = Math.ceil(earliest / step) * step;
    if (last <= first) return;
    const aggregate = random.pick(AGGREGATES);
    const stored = async () => {
      const points: Point[] = [];
      for (let from = first; from <= last; from += MOST_RANGE_S + 60)
        points.push(...(await readRaw(stage, tenant, series, from, Math.min(last, from + MOST_RANGE_S))));
      return points;
    };
    await untilRight(stage, tenant, async () => {
      const before = await stored();
      const query = new URLSearchParams({
        name: series.name,
        from: String(first),
        to: String(last),
        step: String(step),
        aggregate,
      });
      const path = `/api/v0/hosts/${host.id}/metrics?${query}`;
      const found = (await stage.insist<{ metrics: Point[] }>(tenant, 'GET', path))?.metrics ?? [];
      const difference = differenceOf(found, stepsOf(before, step, aggregate));
      if (difference === undefined || differenceOf(await stored(), before) !== undefined) return [];
      return [`${aggregate} of ${step} s of ${series.name} of ${host.id}: ${difference}`];
    });
  },
};

export const READERS: readonly Actor[] = [raw, promql, steps];
