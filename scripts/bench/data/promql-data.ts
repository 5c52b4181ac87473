import { snappyCompress } from 'hysnappy';
import { HotKeys } from '../../../shared/hot/hot-keys';
import { gather } from '../../../shared/model/block-layout';
import { DAY_MS, HOUR_MS } from '../../../shared/model/duration';
import { type Labels, labelsOf, sourceOf } from '../../../shared/model/labels';
import { dayOf } from '../../../shared/model/placement';
import { mapLimited } from '../../../shared/platform/concurrency';
import { parseSettings } from '../../../shared/platform/settings';
import { encodeWriteRequest } from '../../../shared/protocol/prometheus/write-request';
import type { Harness } from '../harness/harness';
import { framesOf, type Place, placeOf, TenantData, type Tiers } from './tenant-data';

export type PromqlData = Awaited<ReturnType<typeof writePromqlData>>;

const SCRAPE_MS = 15_000;
const ARCHIVED_DAYS_AGO = 5;
const MODES = ['user', 'system', 'idle', 'iowait'];
/** Number of `y_total` series that each source has, in addition to one `x_total`. */
const CORES = 10;
const PARALLEL = 16;
/** Number of sources in one remote write request. The constant below is the time range that the request covers. */
const SOURCES_A_REQUEST = 200;
const REQUEST_MS = 600_000;

function seriesOf(i: number): Labels[] {
  const target = [
    ['instance', `10.0.${i >> 8}.${i & 255}:9100`],
    ['job', 'node'],
  ] as const;
  return [
    labelsOf(['__name__', 'x_total'], ...target, ['mode', MODES[i % MODES.length]!]),
    ...Array.from({ length: CORES }, (_, core) =>
      labelsOf(['__name__', 'y_total'], ...target, ['core', String(core)]),
    ),
  ];
}

export interface PromqlShape {
  readonly sources: number;
  readonly nowMs: number;
  /** Number of hours in the warm table. */
  readonly warmHours: number;
  /** Whether to add a day with one sample per minute to the archive. */
  readonly hasArchive: boolean;
}

/**
 * Writes sources that were scraped every 15 s: an hour in memory, earlier hours in the warm table, and optionally a day
 * in the archive.
 */
export async function writePromqlData(
  harness: Pick<Harness, 'counter'>,
  tiers: Tiers,
  { sources, nowMs, warmHours, hasArchive }: PromqlShape,
) {
  const tenant = await TenantData.create(tiers, 'promql');
  const toMs = Math.floor(nowMs / 60_000) * 60_000;
  const hotFromMs = Math.floor((toMs - HOUR_MS) / HOUR_MS) * HOUR_MS;
  const warmFromMs = hotFromMs - warmHours * HOUR_MS;
  const coldFromMs = Math.floor(nowMs / DAY_MS - ARCHIVED_DAYS_AGO) * DAY_MS;
  const places = Array.from({ length: sources }, (_, i) => {
    const series = seriesOf(i);
    return placeOf(tenant.tenantId, sourceOf.labels(series[0]!), series);
  });
  const indexOf = new Map(places.map((place, i) => [place, i]));
  /** Returns the value of a counter that resets every 37 minutes. Each series has its own increment. */
  const sampleOf = (place: Place) => (column: number, ms: number) =>
    Math.round((ms % 2_220_000) / SCRAPE_MS) * (1 + ((indexOf.get(place)! * 31 + column * 7) % 97));
  const frames = (place: Place, fromMs: number, until: number) =>
    framesOf(place.layout, [fromMs, until], SCRAPE_MS, sampleOf(place));

  const days = [...new Set([warmFromMs, hotFromMs - HOUR_MS, toMs].map(dayOf))];
  const archived = hasArchive ? [dayOf(coldFromMs)] : [];
  const layouts = places.map(({ group, layout, packed: { packed } }) => ({ group, id: layout.id, packed }));
  const { catalogue, client, losses, manifest } = tiers;
  const entries = layouts.map((each) => ({ ...each, firstMs: hasArchive ? coldFromMs : warmFromMs }));
  await catalogue.putAll(tenant.tenantId, entries, parseSettings({}).window);
  await catalogue.indexWriter.put(
    tenant.tenantId,
    layouts.map((each) => ({ ...each, days: [...archived, ...days] })),
    parseSettings({}).window,
  );
  for (const { ref } of new Map(places.map((place) => [place.ref.partition, place])).values()) {
    await losses.resolve(ref);
    for (const day of days) await manifest.announce(ref, day);
    // Write the mark that a flusher leaves after it has moved windows. Without the mark, reads would query memory only.
    await client.hset(new HotKeys(ref).mark, 'left', hotFromMs);
  }
  const countSource = harness.counter('sources are written', sources);
  await mapLimited(places, PARALLEL, async (place) => {
    for (let at = hotFromMs; at < toMs; at += HOUR_MS)
      await tenant.append(place, at, frames(place, at, Math.min(at + HOUR_MS, toMs)));
    for (let at = warmFromMs; at < hotFromMs; at += HOUR_MS)
      await tenant.store(place, at, frames(place, at, at + HOUR_MS));
    countSource();
  });

  if (hasArchive)
    await tenant.archive(dayOf(coldFromMs), places, (place) => {
      const { layout } = place;
      return gather(
        layout,
        [layout],
        framesOf(layout, [coldFromMs, coldFromMs + DAY_MS], 60_000, sampleOf(place)),
      );
    });

  /** Encodes a request with the samples of several sources. */
  const request = (some: readonly Place[], fromMs: number, until: number) => {
    const length = (until - fromMs) / SCRAPE_MS;
    const timestamps = Float64Array.from({ length }, (_, i) => fromMs + i * SCRAPE_MS);
    const series = some.flatMap((place) =>
      place.layout.series.map((labels, column) => ({
        labels,
        timestamps,
        values: timestamps.map((ms) => sampleOf(place)(column, ms)),
      })),
    );
    return snappyCompress(encodeWriteRequest(series));
  };
  return {
    apiKey: tenant.apiKey,
    /**
     * Ranges in ms, each within one tier: the hour in memory, the hours in the warm table except the first, and the day
     * in the archive.
     */
    ranges: {
      // Start five minutes later, so that the range of the first step is in the same tier.
      hot: { fromMs: Math.max(hotFromMs + 300_000, toMs - HOUR_MS), toMs },
      warm: { fromMs: warmFromMs + HOUR_MS, toMs: hotFromMs },
      cold: { fromMs: coldFromMs + 300_000, toMs: coldFromMs + DAY_MS },
    },
    /**
     * Yields remote write requests with the same samples. They are in order of time, because Prometheus refuses samples
     * that are an hour older than the newest one.
     */
    *requests(): Generator<Uint8Array> {
      for (let at = warmFromMs; at < toMs; at += REQUEST_MS)
        for (let i = 0; i < places.length; i += SOURCES_A_REQUEST)
          yield request(places.slice(i, i + SOURCES_A_REQUEST), at, Math.min(at + REQUEST_MS, toMs));
    },
  };
}
