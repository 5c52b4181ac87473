import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { rollUpPartitions } from '../../shared/archive/rollup';
import { Catalogue } from '../../shared/catalogue/catalogue';
import {
  type Block,
  encodeChunk,
  encodeFrame,
  type Frame,
  sampleCount,
  type Version,
} from '../../shared/codec';
import { ColdTier } from '../../shared/cold/cold-tier';
import { Directory } from '../../shared/cold/directory';
import { Manifest } from '../../shared/cold/manifest';
import { RollupDirectory } from '../../shared/cold/rollup-directory';
import { connectHot } from '../../shared/hot/connection';
import { movedFrames } from '../../shared/hot/frame-mover';
import { HotTier } from '../../shared/hot/hot-tier';
import { gather } from '../../shared/model/block-layout';
import { DAY_MS } from '../../shared/model/duration';
import { labelValue, METRIC_NAME, metricOf, sourceOf } from '../../shared/model/labels';
import { type Layout, layoutOf, packLayout } from '../../shared/model/layout';
import {
  dayOf,
  type GroupId,
  groupIdOf,
  type PartitionRef,
  partitionOf,
  sourceIdOf,
} from '../../shared/model/placement';
import { ENV } from '../../shared/platform/names';
import { parseSettings } from '../../shared/platform/settings';
import { LossWatch } from '../../shared/recovery/loss-watch';
import { RecoveryTable } from '../../shared/recovery/recovery-table';
import { Hosts } from '../../shared/registry/hosts';
import { ApiKeys } from '../../shared/tenancy/api-keys';
import { type Tenant, Tenants } from '../../shared/tenancy/tenants';
import { revisionOf, WarmTier } from '../../shared/warm/warm-tier';
import { makeAgentData, type SeriesData } from './agent-data';
import type { Stores } from './stores';

/** Ranges of whole minutes, ms, half-open; each lies in one tier alone. */
export interface QueryData {
  readonly apiKey: string;
  readonly hostIds: readonly string[];
  readonly names: readonly string[];
  readonly ranges: Readonly<
    Record<'hot' | 'warm' | 'cold', { readonly fromMs: number; readonly toMs: number }>
  >;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const SETTINGS = parseSettings({});
/** As Kinesis numbers records. */
const FIRST_SEQUENCE = 49590338271490256608559692538361571095921575989136588898n;

interface HostPlace {
  readonly group: GroupId;
  readonly ref: PartitionRef;
  readonly layout: Layout;
  readonly phase: number;
}

export interface QueryDataShape {
  readonly hosts: number;
  readonly nowMs: number;
  /** Days in the archive. Default: 30. */
  readonly coldDays?: number;
  /** Whether the tiers' ranges touch, so that a long range is in all of them. Default: each is apart. */
  readonly isWhole?: boolean;
}

/**
 * Writes hosts of 100 metrics, one post a minute, through the tiers' own classes: an hour and the begun next one in memory, a
 * day in the warm table in windows of an hour, days in the archive, one object a partition and day with one chunk a host.
 */
export async function writeQueryData(
  { address, environment, redisUrl }: Stores,
  { hosts, nowMs, coldDays = 30, isWhole = false }: QueryDataShape,
): Promise<QueryData> {
  const dynamodb = new DynamoDBClient(address);
  const s3 = new S3Client({ ...address, forcePathStyle: true });
  const client = connectHot(redisUrl);
  try {
    const meta = { client: dynamodb, name: environment[ENV.metaTable]! };
    const hot = new HotTier(client, SETTINGS.streamRetention);
    const warm = new WarmTier({ client: dynamodb, name: environment[ENV.warmTable]! }, SETTINGS.warmTtl);
    const cold = new ColdTier(s3, environment[ENV.bucket]!);
    const catalogue = new Catalogue(meta, SETTINGS.retention);
    const manifest = new Manifest(meta);
    const directory = new Directory(meta, SETTINGS.retention);
    const tenants = new Tenants(meta);
    const losses = new LossWatch({ hot, table: new RecoveryTable(meta), lanes: 1, now: Date.now });
    const tenant = await tenants.create('reads', SETTINGS.partitions);
    const { key: apiKey } = await new ApiKeys(meta).create({ tenant: 'reads', rights: ['read'] });
    const data = makeAgentData(1440);

    const toMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
    const hotFromMs = Math.floor((toMs - HOUR_MS) / HOUR_MS) * HOUR_MS;
    const startMs = hotFromMs - 25 * HOUR_MS;
    const startDayMs = Math.floor(startMs / DAY_MS) * DAY_MS;
    const warmFromMs = isWhole ? startDayMs : startMs;
    const coldToMs = isWhole ? startDayMs : startDayMs - DAY_MS;
    const coldFromMs = coldToMs - coldDays * DAY_MS;

    const places: HostPlace[] = [];
    const hostIds: string[] = [];
    for (let i = 0; i < hosts; i++) {
      const id = await makeHost(new Hosts(meta), tenant, i);
      const place = placeOf(tenant, id, data, i);
      hostIds.push(id);
      places.push(place);
      const { group, layout, ref } = place;
      const { packed } = packLayout(layout.bytes);
      await catalogue.put(tenant.id, { group, id: layout.id, packed, firstMs: coldFromMs }, SETTINGS.window);
      await losses.resolve(ref);
      // One window a day of the archive: days are told apart, not windows.
      for (let at = coldFromMs; at < coldToMs; at += DAY_MS) await moveFrame(hot, place, data, at);
      for (let at = warmFromMs; at < hotFromMs; at += HOUR_MS) await moveFrame(hot, place, data, at);
      for (let at = warmFromMs; at < hotFromMs; at += HOUR_MS) {
        await manifest.announce(ref, dayOf(at));
        const chunk = encodeChunk(gather(layout, [layout], framesOf(place, data, at, at + HOUR_MS)));
        const item = { group, windowStart: at, layer: 0, startMs: at, chunk, revision: revisionOf(chunk) };
        await warm.put(ref, dayOf(at), item, undefined);
      }
    }
    // Last, as whatever is in memory moves with the first frames of the others.
    for (const place of places) {
      const { group, layout, ref } = place;
      for (let at = hotFromMs; at < toMs; at += HOUR_MS)
        await hot.appender.append(ref, {
          arrivalMs: at,
          layouts: new Map([[layout.id, packLayout(layout.bytes)]]),
          windows: [
            {
              group,
              windowStart: at,
              frames: framesOf(place, data, at, Math.min(at + HOUR_MS, toMs)).map(encodeFrame),
            },
          ],
        });
    }
    // Every day has the same values, as the data has a day's.
    const firstDays = new Map(
      places.map((place) => {
        const frames = framesOf(place, data, coldFromMs, coldFromMs + DAY_MS);
        return [place, gather(place.layout, [place.layout], frames)];
      }),
    );
    const inOrder = places.sort((a, b) => (a.group < b.group ? -1 : 1));
    for (const [, of] of Map.groupBy(inOrder, ({ ref }) => ref.partition)) {
      const { ref } = of[0]!;
      for (let at = coldFromMs; at < coldToMs; at += DAY_MS) {
        const upload = cold.begin(cold.newKey(ref, dayOf(at), 1));
        let samples = 0;
        for (const place of of) {
          const { group, layout } = place;
          const block = shifted(firstDays.get(place)!, at - coldFromMs);
          samples += sampleCount(block);
          await upload.writer.addGroup(group, [{ block, layout }]);
        }
        const written = await upload.finish(new Map());
        await directory.put(ref.tenantId, dayOf(at), written);
        await manifest.announce(ref, dayOf(at));
        const { key, etag, bytes } = written;
        const parts = [{ key, etag, bytes, samples, firstGroup: '' }];
        await manifest.commit(ref, dayOf(at), undefined, { changes: 1, parts, atMs: nowMs });
      }
    }
    if (isWhole) {
      const rollups = new RollupDirectory(meta, SETTINGS.retention);
      const refs = [...new Map(places.map(({ ref }) => [ref.partition, ref])).values()];
      await rollUpPartitions({ cold, catalogue, manifest, rollups }, refs, {
        hasTime: () => true,
        onFailure: (_, __, error) => {
          throw error;
        },
      });
    }
    return {
      apiKey,
      hostIds,
      names: data.map(({ labels }) => labels.__name__!),
      ranges: {
        hot: { fromMs: toMs - HOUR_MS, toMs },
        warm: { fromMs: warmFromMs + HOUR_MS, toMs: hotFromMs },
        cold: { fromMs: coldFromMs, toMs: coldToMs },
      },
    };
  } finally {
    client.disconnect();
    dynamodb.destroy();
    s3.destroy();
  }
}

/** Lets a window leave memory, as a flusher does: memory knows then that it has not all of the window. */
export async function moveFrame(
  hot: HotTier,
  { ref, group, layout }: HostPlace,
  data: readonly SeriesData[],
  windowStart: number,
): Promise<void> {
  const [frame] = framesOf({ ref, group, layout, phase: 0 }, data, windowStart, windowStart + MINUTE_MS);
  const layouts = new Map([[layout.id, packLayout(layout.bytes)]]);
  const windows = [{ group, windowStart, frames: [encodeFrame(frame!)] }];
  await hot.appender.append(ref, { arrivalMs: windowStart, layouts, windows });
  for (const lease of await hot.mover.lease(ref, await hot.nodes.now(), 10, HOUR_MS)) {
    const { frames, isAll } = await hot.mover.frames(ref, lease.group, lease.windowStart);
    await hot.mover.trim(ref, lease, movedFrames(frames, isAll));
  }
}

export async function makeHost(hosts: Hosts, tenant: Tenant, i: number): Promise<string> {
  const spec = {
    name: `host${i}`,
    displayName: null,
    customIdentifier: null,
    memo: '',
    meta: {},
    interfaces: [],
  };
  return (await hosts.create(tenant.id, spec, [])).id;
}

function placeOf(tenant: Tenant, hostId: string, data: readonly SeriesData[], i: number): HostPlace {
  const source = sourceOf.host(hostId);
  const sourceId = sourceIdOf(tenant.id, source);
  return {
    group: groupIdOf(sourceId, 0, 0),
    ref: { tenantId: tenant.id, partition: partitionOf(sourceId, SETTINGS.partitions) },
    layout: layoutOf(data.map(({ labels }) => metricOf(source, labels.__name__!))),
    phase: i * 97,
  };
}

/** One frame a minute of `[fromMs, toMs)`. */
function framesOf(
  { layout, phase }: HostPlace,
  data: readonly SeriesData[],
  fromMs: number,
  toMs: number,
): Frame[] {
  const byName = new Map(data.map(({ labels, values }) => [labels.__name__, values]));
  const columns = layout.series.map((labels) => byName.get(labelValue(labels, METRIC_NAME)!)!);
  const frames: Frame[] = [];
  for (let at = fromMs; at < toMs; at += MINUTE_MS) {
    const minute = at / MINUTE_MS + phase;
    const values = Float64Array.from(columns, (column) => column[minute % column.length]!);
    frames.push({
      layout: layout.idBytes,
      timestamp: at,
      version: versionAt(at),
      values: new Uint8Array(values.buffer),
    });
  }
  return frames;
}

function versionAt(ms: number): Version {
  return { arrivalMs: ms + 700, sequence: FIRST_SEQUENCE + BigInt(ms) * 2n ** 20n };
}

/** A block of {@link framesOf}, later. */
function shifted(block: Block, byMs: number): Block {
  const timestamps = block.timestamps.map((ms) => ms + byMs);
  return { ...block, timestamps, versions: Array.from(timestamps, versionAt) };
}
