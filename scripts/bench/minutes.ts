import { paginateListObjectsV2 } from '@aws-sdk/client-s3';
import { mergeInTime } from '../../shared/archive/merge';
import type { Block, Column } from '../../shared/codec';
import { rollupDirectory } from '../../shared/compose/rollup-directory';
import { DAY_MS } from '../../shared/model/duration';
import { metricOf, sourceOf } from '../../shared/model/labels';
import type { Layout } from '../../shared/model/layout';
import { dayOf } from '../../shared/model/placement';
import { bucketKeys } from '../../shared/platform/keys';
import { ENV } from '../../shared/platform/names';
import { parseSettings } from '../../shared/platform/settings';
import { Random } from '../faults/random';
import { connectTiers, framesOf, placeOf, TenantData, type Tiers } from './data/tenant-data';
import { bench } from './frame/bench';
import { ownCpu } from './frame/cpu';
import { count, number } from './frame/options';
import { startStores } from './frame/stores';
import { QueryInstances } from './query-instances';

const SECOND_MS = 1000;
const HOUR_MS = 3_600_000;
/** Age of the day in days, so that it is archived and reads consult the manifest first. */
const AGE_DAYS = 4;

export const minutes = bench({
  name: 'minutes',
  summary: 'reads by the minute of a day with a sample per second, with and without minute rollups',
  description:
    'Archives a day of a host whose series have a sample per second. Rolls the day up with rollups=on and with rollups=minutes, and ' +
    'reads it in steps of one minute and of five minutes.',
  options: {
    series: count('series of the host, 256 at most', 100),
    missing: number('percent of the seconds that the host did not post, at random', 0),
    seconds: number('how long each kind of query is measured', 3),
  },
  run: async ({ series, missing, seconds }, frame) => {
    const stores = await startStores(frame);
    const tiers = connectTiers(frame, stores);
    const { tenant, place, hostId, names, startMs, archiveBytes } = await writeDay(
      tiers,
      series,
      missing / 100,
    );
    const range = `from=${startMs / 1000}&to=${(startMs + DAY_MS) / 1000 - 1}`;
    const ofSeries = (stepS: number) => (_: number, turn: number) =>
      `/api/v0/hosts/${hostId}/metrics?name=${names[(turn * 7) % series]}&${range}&step=${stepS}`;
    const ofHost = `/api/v1/hosts/${hostId}/metrics?${names.map((name) => `name=${name}`).join('&')}&${range}&step=300`;
    const queries = {
      'a series by the minute': ofSeries(60),
      'a series by 5 minutes': ofSeries(300),
      'all series by 5 minutes': () => ofHost,
    };
    const [rolledUp, reads]: [object[], object[]] = [[], []];
    for (const rollups of ['on', 'minutes'] as const) {
      const settings = parseSettings({ rollups });
      const cpu = ownCpu();
      await tenant.rollUp([place.ref], rollupDirectory(tiers.meta, settings)!);
      const cpuSeconds = Math.round(cpu() / 10) / 100;
      const rollupBytes = await bytesUnder(tiers, bucketKeys.rollupsOf(tenant.tenantId));
      frame.adder(rolledUp)({ rollups, cpuSeconds, archiveBytes, rollupBytes });
      const environment = { ...stores.environment, [ENV.settings]: JSON.stringify(settings) };
      await frame.part(async (part) => {
        const instances = await QueryInstances.start(part, { ...stores, environment }, 1);
        const timing = { durationMs: seconds * 1000, pauseMs: 0 };
        for (const [query, pathOf] of Object.entries(queries))
          frame.adder(reads)({ query, rollups, ...(await instances.measure(pathOf, tenant.apiKey, timing)) });
      });
    }
    return { rolledUp, reads };
  },
});

/** Archives the day like the archiver. */
async function writeDay(tiers: Tiers, series: number, missing: number) {
  const tenant = await TenantData.create(tiers, 'dense', 1);
  const hostId = await tenant.host('host0');
  const source = sourceOf.host(hostId);
  const names = Array.from({ length: series }, (_, i) => `metric.${i}`);
  const place = placeOf(
    tenant.tenantId,
    source,
    names.map((name) => metricOf(source, name)),
    1,
  );
  const { layout } = place;
  const startMs = Math.floor(Date.now() / DAY_MS - AGE_DAYS) * DAY_MS;
  await tenant.register(place, startMs);
  await tenant.leave(place, startMs, framesOf(layout, [startMs, startMs + 1], SECOND_MS, () => 0)[0]!);
  const random = new Random(1);
  const hours = Array.from({ length: 24 }, (_, hour) => ({
    layout,
    block: hourOf(layout, startMs + hour * HOUR_MS, missing, random),
  }));
  const groups = [{ place, blocks: mergeInTime(hours) }];
  const archiveBytes = await tenant.archive(place.ref, dayOf(startMs), groups);
  return { tenant, place, hostId, names, startMs, archiveBytes };
}

async function bytesUnder({ s3, bucket }: Tiers, Prefix: string): Promise<number> {
  let bytes = 0;
  for await (const { Contents = [] } of paginateListObjectsV2({ client: s3 }, { Bucket: bucket, Prefix }))
    for (const { Size = 0 } of Contents) bytes += Size;
  return bytes;
}

/**
 * Generates gauges as random walks in steps of 0.25, of which a fifth stay constant, with missing seconds.
 */
function hourOf(layout: Layout, startMs: number, missing: number, random: Random): Block {
  const seconds = Array.from({ length: HOUR_MS / SECOND_MS }, (_, i) => startMs + i * SECOND_MS);
  const timestamps = Float64Array.from(seconds.filter(() => random.next() >= missing));
  const columns = layout.series.map((_, series): Column => {
    let value = random.integer(0, 4000);
    const values = timestamps.map(() => {
      if (series % 5 !== 0) value += random.integer(-4, 4);
      return value / 4;
    });
    return { values };
  });
  const versions = Array.from(timestamps, (ms) => ({ arrivalMs: ms + 500, sequence: BigInt(ms) }));
  const rowVersions = Uint32Array.from(timestamps, (_, row) => row);
  return { layout: layout.idBytes, timestamps, versions, rowVersions, columns };
}
