import { ArchiveWriter } from '../../../shared/cold/parquet-writer';
import { gather } from '../../../shared/model/block-layout';
import { DAY_MS } from '../../../shared/model/duration';
import { type Labels, labelsKey, labelsOf, sourceOf } from '../../../shared/model/labels';
import { layoutOf } from '../../../shared/model/layout';
import { type LayoutBlock, mergeLayoutBlocks } from '../../../shared/model/layout-block';
import {
  dayOf,
  type GroupId,
  groupIdOf,
  sourceIdOf,
  splitBitsFor,
  splitIndexOf,
  tenantIdOf,
} from '../../../shared/model/placement';
import type { SeriesData } from './agent-data';
import { withLiveVersions } from './data-sets';

const TENANT = tenantIdOf('bench');

/** The groups of one archive object. */
export type Day = ReadonlyMap<GroupId, LayoutBlock>;

/** Gives each row a version of its own, as posts do. */
export function withVersions(groups: Day): Day {
  return new Map(
    [...groups].map(([group, { block, layout }]) => [group, { block: withLiveVersions(block), layout }]),
  );
}

/** Returns the bytes of an archive object. */
export async function writeObject(groups: Day): Promise<Buffer> {
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

/**
 * Divides series into ranges of time, and those of a range into groups, as the archiver does: each source has its own
 * groups, and a source with many series has several. The groups are ordered by id.
 */
export function groupsByTime(all: readonly SeriesData[], lengthMs: number): Map<string, Day> {
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
        for (const [day, block] of blocksByTime(sharing, lengthMs)) {
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

/** Yields a block for each range of time of series that share their timestamps. */
function* blocksByTime(
  series: readonly (Omit<SeriesData, 'labels'> & { readonly labels: Labels })[],
  lengthMs: number,
) {
  const layout = layoutOf(series.map(({ labels }) => labels));
  const byKey = new Map(series.map(({ labels, values }) => [labelsKey(labels), values]));
  const columns = [...layout.columns.keys()].map((key) => byKey.get(key)!);
  const rows = Map.groupBy(series[0]!.timestamps.keys(), (row) =>
    Math.floor(series[0]!.timestamps[row]! / lengthMs),
  );
  for (const [day, of] of rows) {
    const frames = of.map((row) => ({
      layout: layout.idBytes,
      timestamp: series[0]!.timestamps[row]!,
      version: { arrivalMs: 1_790_000_000_000, sequence: 0n },
      values: new Uint8Array(Float64Array.from(columns, (values) => values[row]!).buffer),
    }));
    const block = gather(layout, [layout], frames);
    yield [lengthMs === DAY_MS ? dayOf(day * DAY_MS) : 'whole', { block, layout }] as const;
  }
}
