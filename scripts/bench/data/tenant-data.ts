import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { rollUpPartitions } from '../../../shared/archive/rollup';
import { CatalogueWriter } from '../../../shared/catalogue/catalogue-writer';
import {
  type Block,
  encodeChunk,
  encodeFrame,
  type Frame,
  sampleCount,
  type Version,
} from '../../../shared/codec';
import { ArchiveDirectory } from '../../../shared/cold/archive-directory';
import { ColdTier } from '../../../shared/cold/cold-tier';
import { Manifest } from '../../../shared/cold/manifest';
import { RollupDirectory } from '../../../shared/cold/rollup-directory';
import { connectHot } from '../../../shared/hot/connection';
import { digestFrames } from '../../../shared/hot/frame-mover';
import { HotTier } from '../../../shared/hot/hot-tier';
import { gather } from '../../../shared/model/block-layout';
import { HOUR_MS } from '../../../shared/model/duration';
import type { Id } from '../../../shared/model/id';
import type { Labels } from '../../../shared/model/labels';
import { type Layout, layoutOf } from '../../../shared/model/layout';
import { type PackedLayout, packLayout } from '../../../shared/model/packed-layout';
import {
  type Day,
  dayOf,
  type GroupId,
  groupIdOf,
  type PartitionRef,
  partitionOf,
  sourceIdOf,
} from '../../../shared/model/placement';
import { ENV } from '../../../shared/platform/names';
import { parseSettings } from '../../../shared/platform/settings';
import { LossWatch } from '../../../shared/recovery/loss-watch';
import { RecoveryTable } from '../../../shared/recovery/recovery-table';
import { Hosts } from '../../../shared/registry/hosts';
import { ApiKeys } from '../../../shared/tenancy/api-keys';
import { Tenants } from '../../../shared/tenancy/tenants';
import { revisionOf, WarmTier } from '../../../shared/warm/warm-tier';
import type { Harness } from '../harness/harness';
import { PATIENCE_MS } from '../harness/patient-call-time';
import type { Stores } from '../harness/stores';

const SETTINGS = parseSettings({});
/** A sequence number as long as those of Kinesis. */
const FIRST_SEQUENCE = 49590338271490256608559692538361571095921575989136588898n;

export type Tiers = ReturnType<typeof connectTiers>;

/**
 * Creates the real classes of the tiers for a benchmark's stores, with default settings. Their clients are closed at
 * the end of the run.
 *
 * @param requestHandler connection options of the SDK
 */
export function connectTiers(
  harness: Harness,
  { address, environment, redisUrl }: Stores,
  requestHandler: object = {},
) {
  const dynamodb = new DynamoDBClient({ ...address, requestHandler });
  const s3 = new S3Client({ ...address, requestHandler, forcePathStyle: true });
  const client = connectHot(redisUrl, process.env, PATIENCE_MS);
  harness.atEnd(() => {
    client.disconnect();
    dynamodb.destroy();
    s3.destroy();
  });
  const meta = { client: dynamodb, name: environment[ENV.metaTable]! };
  const hot = new HotTier(client, SETTINGS.streamRetention);
  return {
    client,
    meta,
    hot,
    warm: new WarmTier({ client: dynamodb, name: environment[ENV.warmTable]! }, SETTINGS.warmTtl),
    cold: new ColdTier(s3, environment[ENV.bucket]!),
    catalogue: new CatalogueWriter(meta, SETTINGS.retention),
    manifest: new Manifest(meta),
    directory: new ArchiveDirectory(meta, SETTINGS.retention),
    rollups: new RollupDirectory(meta, SETTINGS.retention),
    tenants: new Tenants(meta),
    losses: new LossWatch({ hot, table: new RecoveryTable(meta), lanes: 1, now: Date.now }),
  };
}

/** The series that a source has in one group. */
export interface Place {
  readonly sourceId: Id;
  readonly group: GroupId;
  readonly ref: PartitionRef;
  readonly layout: Layout;
  readonly packed: PackedLayout;
}

export function placeOf(tenantId: Id, source: Labels, series: readonly Labels[]): Place {
  const sourceId = sourceIdOf(tenantId, source);
  const layout = layoutOf(series);
  return {
    sourceId,
    group: groupIdOf(sourceId, 0, 0),
    ref: { tenantId, partition: partitionOf(sourceId, SETTINGS.partitions) },
    layout,
    packed: packLayout(layout.bytes),
  };
}

/** Returns the version of a post that arrived shortly after its time, with a sequence number like those of Kinesis. */
export function versionAt(ms: number): Version {
  return { arrivalMs: ms + 700, sequence: FIRST_SEQUENCE + BigInt(ms) * 2n ** 20n };
}

/**
 * Returns a frame every `stepMs` in `[fromMs, toMs)`.
 *
 * @param sampleOf returns a value, given the index of a series in the layout, and a time in ms
 */
export function framesOf(
  { idBytes, series }: Layout,
  [fromMs, toMs]: readonly [fromMs: number, toMs: number],
  stepMs: number,
  sampleOf: (column: number, ms: number) => number,
): Frame[] {
  const frames: Frame[] = [];
  for (let at = fromMs; at < toMs; at += stepMs) {
    const values = Float64Array.from(series, (_, column) => sampleOf(column, at));
    frames.push({
      layout: idBytes,
      timestamp: at,
      version: versionAt(at),
      values: new Uint8Array(values.buffer),
    });
  }
  return frames;
}

/** Writes a tenant's samples through the real classes of the tiers. */
export class TenantData {
  private constructor(
    private readonly tiers: Tiers,
    readonly tenantId: Id,
    /** API key with the right to read. */
    readonly apiKey: string,
  ) {}

  static async create(tiers: Tiers, name: string): Promise<TenantData> {
    const { id } = await tiers.tenants.create(name, SETTINGS.partitions);
    const { key } = await new ApiKeys(tiers.meta).create({ tenant: name, rights: ['read'] });
    return new TenantData(tiers, id, key);
  }

  /**
   * Registers a host.
   *
   * @returns its id
   */
  async host(name: string): Promise<string> {
    const spec = { name, displayName: null, customIdentifier: null, memo: '', meta: {}, interfaces: [] };
    return (await new Hosts(this.tiers.meta).create(this.tenantId, spec, [])).id;
  }

  /** Adds a place to the catalogue, dated to its first sample. */
  async register({ ref, group, layout, packed }: Place, firstMs: number): Promise<void> {
    const { catalogue, losses } = this.tiers;
    const entry = { group, id: layout.id, packed: packed.packed, firstMs };
    await catalogue.put(this.tenantId, entry, SETTINGS.window);
    await losses.resolve(ref);
  }

  /** Appends frames to a window in memory. */
  async append(
    { ref, group, layout, packed }: Place,
    windowStart: number,
    frames: readonly Frame[],
  ): Promise<void> {
    await this.tiers.hot.appender.append(ref, {
      arrivalMs: windowStart,
      layouts: new Map([[layout.id, packed]]),
      windows: [{ group, windowStart, frames: frames.map(encodeFrame) }],
    });
  }

  /** Makes a window leave memory as a flusher does, so that reads know that memory may lack part of it. */
  async leave(place: Place, windowStart: number, frame: Frame): Promise<void> {
    const { mover, nodes } = this.tiers.hot;
    await this.append(place, windowStart, [frame]);
    for (const lease of await mover.lease(place.ref, await nodes.now(), 10, HOUR_MS)) {
      const { frames, isAll } = await mover.frames(place.ref, lease.group, lease.windowStart);
      await mover.trim(place.ref, lease, digestFrames(frames, isAll));
    }
  }

  /** Writes a window's chunk into the warm table. */
  async store({ ref, group, layout }: Place, windowStart: number, frames: readonly Frame[]): Promise<void> {
    const chunk = encodeChunk(gather(layout, [layout], frames));
    const item = { group, windowStart, layer: 0, startMs: windowStart, chunk, revision: revisionOf(chunk) };
    await this.tiers.warm.put(ref, dayOf(windowStart), item, undefined);
  }

  /** Archives a day of the groups at these places as the archiver does: one object for each partition. */
  async archive(day: Day, places: readonly Place[], blockOf: (place: Place) => Block): Promise<void> {
    const { cold, directory, manifest } = this.tiers;
    const inOrder = places.toSorted((a, b) => (a.group < b.group ? -1 : 1));
    for (const own of Map.groupBy(inOrder, ({ ref }) => ref.partition).values()) {
      const { ref } = own[0]!;
      const upload = cold.begin(cold.newKey(ref, day, 1));
      let samples = 0;
      for (const place of own) {
        const block = blockOf(place);
        samples += sampleCount(block);
        await upload.writer.addGroup(place.group, [{ block, layout: place.layout }]);
      }
      const written = await upload.finish(new Map());
      await directory.put(this.tenantId, day, written);
      await manifest.announce(ref, day);
      const parts = [{ key: written.key, etag: written.etag, bytes: written.bytes, samples, firstGroup: '' }];
      await manifest.commit(ref, day, undefined, { announcements: 1, parts, atMs: Date.now() });
    }
  }

  /**
   * Creates rollups of the partitions' archived days.
   *
   * @param onStep called before each span, and before each group of a span
   */
  async rollUp(refs: readonly PartitionRef[], onStep: () => void): Promise<void> {
    const { cold, catalogue, manifest, rollups } = this.tiers;
    await rollUpPartitions({ cold, catalogue, manifest, rollups }, refs, {
      hasTime: () => {
        onStep();
        return true;
      },
      onFailure: (_, __, error) => {
        throw error;
      },
    });
  }
}
