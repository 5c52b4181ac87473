import type { Block } from '../../../shared/codec';
import { gather } from '../../../shared/model/block-layout';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../shared/model/duration';
import { labelsOf, labelValue, METRIC_NAME, metricOf, sourceOf } from '../../../shared/model/labels';
import { dayOf } from '../../../shared/model/placement';
import { mapLimited } from '../../../shared/platform/concurrency';
import { parseSettings } from '../../../shared/platform/settings';
import type { Harness } from '../harness/harness';
import { makeAgentData } from './agent-data';
import { framesOf, type Place, placeOf, TenantData, type Tiers, versionAt } from './tenant-data';

/** Number of days that are archived at the same time. Archiving mostly waits for the stand-in. */
const PARALLEL = 8;

export type QueryData = Awaited<ReturnType<typeof writeQueryData>>;

export interface QueryDataShape {
  readonly hosts: number;
  readonly nowMs: number;
  /**
   * Days in the archive.
   *
   * @default 30
   */
  readonly coldDays?: number;
  /**
   * Whether the tiers' ranges adjoin and archived days have rollups, so that one query reads all tiers.
   *
   * @default false
   */
  readonly isWhole?: boolean;
  /**
   * Whether each host's series are counters named `x_total`, which restart each day and differ in the label `of`.
   *
   * @default false
   */
  readonly areCounters?: boolean;
}

/**
 * Writes hosts with 100 metrics and one post per minute. Memory has the last hour and the current one, the warm table
 * has a day in hourly windows, and the archive has the days before. In the archive, each partition and day has one
 * object, with one chunk for each host.
 */
export async function writeQueryData(
  harness: Pick<Harness, 'counter'>,
  tiers: Tiers,
  { hosts, nowMs, coldDays = 30, isWhole = false, areCounters = false }: QueryDataShape,
) {
  const tenant = await TenantData.create(tiers, 'reads');
  const data = makeAgentData(1440);
  const names = data.map(({ labels }) => labels.__name__!);
  const valuesOf = new Map(
    data.map(({ labels, values }) => [labels.__name__!, areCounters ? runningSums(values) : values]),
  );
  const labelOfName = areCounters ? 'of' : METRIC_NAME;

  const toMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
  const hotFromMs = Math.floor((toMs - HOUR_MS) / HOUR_MS) * HOUR_MS;
  const startMs = hotFromMs - 25 * HOUR_MS;
  const startDayMs = Math.floor(startMs / DAY_MS) * DAY_MS;
  const warmFromMs = isWhole ? startDayMs : startMs;
  const coldToMs = isWhole ? startDayMs : startDayMs - DAY_MS;
  const coldFromMs = coldToMs - coldDays * DAY_MS;

  const countArchivedWindow = harness.counter('archived windows have left memory', hosts * coldDays);
  const hostIds: string[] = [];
  const places: Place[] = [];
  /** Returns a host's frames. All hosts have the same values, but shifted in time. */
  const frames = (place: Place, fromMs: number, until: number) => {
    const columns = place.layout.series.map((labels) => valuesOf.get(labelValue(labels, labelOfName)!)!);
    const phase = places.indexOf(place) * 97;
    return framesOf(place.layout, [fromMs, until], MINUTE_MS, (column, ms) => {
      const values = columns[column]!;
      return values[(ms / MINUTE_MS + phase) % values.length]!;
    });
  };
  for (let i = 0; i < hosts; i++) {
    const id = await tenant.host(`host${i}`);
    const source = sourceOf.host(id);
    const place = placeOf(
      tenant.tenantId,
      source,
      names.map((name) =>
        areCounters ? labelsOf([METRIC_NAME, 'x_total'], ['of', name], ...source) : metricOf(source, name),
      ),
    );
    hostIds.push(id);
    places.push(place);
    await tenant.register(place, coldFromMs);
    const leave = async (at: number) => tenant.leave(place, at, frames(place, at, at + MINUTE_MS)[0]!);
    // One window for each archived day is enough: a read needs the mark only to learn that the day has left memory.
    for (let at = coldFromMs; at < coldToMs; at += DAY_MS) {
      await leave(at);
      countArchivedWindow();
    }
    for (let at = warmFromMs; at < hotFromMs; at += HOUR_MS) {
      await leave(at);
      await tiers.manifest.announce(place.ref, dayOf(at));
      await tenant.store(place, at, frames(place, at, at + HOUR_MS));
    }
  }
  const days = Array.from({ length: Math.ceil((toMs - coldFromMs) / DAY_MS) }, (_, i) =>
    dayOf(coldFromMs + i * DAY_MS),
  );
  if (areCounters)
    await tiers.catalogue.indexWriter.put(
      tenant.tenantId,
      places.map(({ group, layout, packed: { packed } }) => ({ group, id: layout.id, packed, days })),
      parseSettings({}).window,
    );
  // Write memory last, because `leave` moves everything that is in memory then.
  for (const place of places)
    for (let at = hotFromMs; at < toMs; at += HOUR_MS)
      await tenant.append(place, at, frames(place, at, Math.min(at + HOUR_MS, toMs)));
  // All days have the same values, because the data covers one day.
  const firstDays = new Map(
    places.map((place) => {
      const { layout } = place;
      return [place, gather(layout, [layout], frames(place, coldFromMs, coldFromMs + DAY_MS))];
    }),
  );
  const afterMs = Array.from({ length: coldDays }, (_, i) => i * DAY_MS);
  const countArchived = harness.counter('days are archived', coldDays);
  await mapLimited(afterMs, PARALLEL, async (ms) => {
    await tenant.archive(dayOf(coldFromMs + ms), places, (place) => shifted(firstDays.get(place)!, ms));
    countArchived();
  });
  const refs = new Map(places.map(({ ref }) => [ref.partition, ref]));
  if (isWhole) await tenant.rollUp([...refs.values()], harness.counter('steps of rollups are done'));
  return {
    apiKey: tenant.apiKey,
    hostIds,
    names,
    /** Half-open ranges of whole minutes in ms; each lies within one tier. */
    ranges: {
      hot: { fromMs: toMs - HOUR_MS, toMs },
      warm: { fromMs: warmFromMs + HOUR_MS, toMs: hotFromMs },
      cold: { fromMs: coldFromMs, toMs: coldToMs },
    },
  };
}

/** Returns a block with its timestamps moved to a later time. */
function shifted(block: Block, byMs: number): Block {
  const timestamps = block.timestamps.map((ms) => ms + byMs);
  return { ...block, timestamps, versions: Array.from(timestamps, versionAt) };
}

function runningSums(values: readonly number[]): number[] {
  let sum = 0;
  return values.map((value) => (sum += Math.abs(value)));
}
