import { sampleCount } from '../../shared/codec';
import type { ByteRange } from '../../shared/cold/archive-format';
import { openArchiveObject } from '../../shared/cold/parquet-reader';
import { ArchiveWriter } from '../../shared/cold/parquet-writer';
import { gather } from '../../shared/model/block-layout';
import { DAY_MS } from '../../shared/model/duration';
import { type Labels, labelsKey, labelsOf, sourceOf } from '../../shared/model/labels';
import { layoutOf } from '../../shared/model/layout';
import { type LayoutBlock, mergeLayoutBlocks } from '../../shared/model/layout-block';
import {
  dayOf,
  type GroupId,
  groupIdOf,
  sourceIdOf,
  splitBitsFor,
  splitIndexOf,
  tenantIdOf,
} from '../../shared/model/placement';
import { measureRollups } from './archive-rollups';
import type { SeriesData } from './data/agent-data';
import { dataSets, withLiveVersions } from './data/data-sets';
import { bench } from './frame/bench';
import { ownCpu } from './frame/cpu';
import { count, flag, texts } from './frame/options';

const TENANT = tenantIdOf('bench');
const ROUNDS = 3;

type Day = ReadonlyMap<GroupId, LayoutBlock>;

export const archive = bench({
  name: 'archive',
  summary: 'size of archive objects, and how fast they are written and read back',
  description:
    'Measures the bytes per sample of whole archive objects, including footers, indexes and versions: for one object a day, and ' +
    'for one object of all days. Each is measured with one version per object, as after a backfill, and with one version per ' +
    'post, as in live data. Also measures how many samples per second a core writes and reads back.',
  options: {
    data: texts('<file...>', 'files of samples, as for `bench codec`'),
    rollups: flag('measure instead how many bytes rollups of a month add to the archive'),
    hosts: count('hosts of --rollups, 100 metrics each', 4),
  },
  run: async ({ data, rollups, hosts }, frame) => {
    if (rollups) return measureRollups(hosts);
    const rows: object[] = [];
    const add = frame.adder(rows);
    for (const { name, load } of dataSets(data)) {
      const series = load();
      for (const [span, spanMs] of Object.entries({ day: DAY_MS, whole: Number.MAX_SAFE_INTEGER })) {
        const spans = groupsBySpan(series, spanMs);
        add({ data: name, span, objects: spans.size, ...(await measure([...spans.values()])) });
      }
    }
    return rows;
  },
});

async function measure(days: readonly Day[]) {
  let bytes = 0;
  let liveBytes = 0;
  let samples = 0;
  const cpu = { write: Number.POSITIVE_INFINITY, verify: Number.POSITIVE_INFINITY };
  for (let round = 0; round <= ROUNDS; round++) {
    const spent = { write: 0, verify: 0 };
    bytes = liveBytes = samples = 0;
    for (const groups of days) {
      const writing = ownCpu();
      const object = await write(groups);
      spent.write += writing() / 1000;
      const verifying = ownCpu();
      await verify(object);
      spent.verify += verifying() / 1000;
      bytes += object.length;
      if (round === ROUNDS) liveBytes += (await write(withVersions(groups))).length;
      for (const { block } of groups.values()) samples += sampleCount(block);
    }
    // The first round is a warm-up.
    if (round === 0) continue;
    cpu.write = Math.min(cpu.write, spent.write);
    cpu.verify = Math.min(cpu.verify, spent.verify);
  }
  return {
    samples,
    bytesPerSample: bytes / samples,
    liveBytesPerSample: liveBytes / samples,
    writeSamplesPerSecond: Math.round(samples / cpu.write),
    verifySamplesPerSecond: Math.round(samples / cpu.verify),
  };
}

export function withVersions(groups: Day): Day {
  return new Map(
    [...groups].map(([group, { block, layout }]) => [group, { block: withLiveVersions(block), layout }]),
  );
}

export async function write(groups: Day): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  const writer = new ArchiveWriter(async (part) => {
    parts.push(part);
  });
  for (const [group, block] of groups) await writer.addGroup(group, [block]);
  await writer.finish(
    new Map([...groups.keys()].map((group) => [`${group}#0#0#0`, 'a revision of 22 bytes'])),
  );
  return Buffer.concat(parts);
}

async function verify(object: Buffer): Promise<void> {
  const slice = async ({ offset, length }: ByteRange) => object.subarray(offset, offset + length);
  const reader = await openArchiveObject({ key: 'bench', byteLength: object.length, slice });
  await reader.verify();
}

/** Groups series into groups by time span, in the archiver's order: by source, split and merged. */
export function groupsBySpan(all: readonly SeriesData[], spanMs: number): Map<string, Day> {
  const instances = new Map<string, number>();
  const series = all.map((data) => {
    const times = data.timestamps.join();
    const instance = instances.get(times) ?? instances.size;
    instances.set(times, instance);
    return { ...data, labels: scraped(data.labels, instance) };
  });
  const days = new Map<string, Map<GroupId, LayoutBlock[]>>();
  for (const [source, own] of Map.groupBy(series, ({ labels }) => labelsKey(sourceOf.labels(labels)))) {
    const bits = splitBitsFor(own.length);
    const groups = Map.groupBy(own, ({ labels }) =>
      groupIdOf(sourceIdOf(TENANT, JSON.parse(source)), bits, splitIndexOf(labelsKey(labels), bits)),
    );
    for (const [group, members] of groups)
      for (const [, sharing] of Map.groupBy(members, ({ timestamps }) => timestamps.join()))
        for (const [day, block] of blocksBySpan(sharing, spanMs)) {
          const ofDay = days.get(day) ?? new Map<GroupId, LayoutBlock[]>();
          days.set(day, ofDay.set(group, [...(ofDay.get(group) ?? []), block]));
        }
  }
  return new Map(
    [...days].map(([day, groups]) => [
      day,
      new Map(
        [...groups]
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([group, blocks]): [GroupId, LayoutBlock] => [group, mergeLayoutBlocks(blocks)]),
      ),
    ]),
  );
}

/** Adds the label `instance`, as a scrape does. Series with the same timestamps belong to one scrape. */
function scraped(labels: SeriesData['labels'], instance: number): Labels {
  const pairs = Object.entries(labels);
  const isPlaced = pairs.some(([name]) => ['host', 'instance', 'job'].includes(name));
  return labelsOf(...pairs, ...(isPlaced ? [] : [['instance', `${instance}:9100`] as const]));
}

/** Yields series with the same timestamps as blocks, each of one time span. */
function* blocksBySpan(
  series: readonly (Omit<SeriesData, 'labels'> & { readonly labels: Labels })[],
  spanMs: number,
) {
  const layout = layoutOf(series.map(({ labels }) => labels));
  const byKey = new Map(series.map(({ labels, values }) => [labelsKey(labels), values]));
  const columns = [...layout.columns.keys()].map((key) => byKey.get(key)!);
  const rows = Map.groupBy(series[0]!.timestamps.keys(), (row) =>
    Math.floor(series[0]!.timestamps[row]! / spanMs),
  );
  for (const [day, of] of rows) {
    const frames = of.map((row) => ({
      layout: layout.idBytes,
      timestamp: series[0]!.timestamps[row]!,
      version: { arrivalMs: 1_790_000_000_000, sequence: 0n },
      values: new Uint8Array(Float64Array.from(columns, (values) => values[row]!).buffer),
    }));
    const block = gather(layout, [layout], frames);
    yield [spanMs === DAY_MS ? dayOf(day * DAY_MS) : 'whole', { block, layout }] as const;
  }
}
