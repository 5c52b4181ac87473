import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { snappyCompress } from 'hysnappy';
import { Catalogue } from '../../shared/catalogue/catalogue';
import { encodeChunk, encodeFrame, type Frame } from '../../shared/codec';
import { Manifest } from '../../shared/cold/manifest';
import { connectHot } from '../../shared/hot/connection';
import { HotTier } from '../../shared/hot/hot-tier';
import { gather } from '../../shared/model/block-layout';
import { type Labels, labelsOf, sourceOf } from '../../shared/model/labels';
import { type Layout, layoutOf, packLayout } from '../../shared/model/layout';
import {
  dayOf,
  type GroupId,
  groupIdOf,
  type PartitionRef,
  partitionOf,
  sourceIdOf,
} from '../../shared/model/placement';
import { mapLimited } from '../../shared/platform/concurrency';
import { HotKeys } from '../../shared/platform/keys';
import { ENV } from '../../shared/platform/names';
import { parseSettings } from '../../shared/platform/settings';
import { LossWatch } from '../../shared/recovery/loss-watch';
import { RecoveryTable } from '../../shared/recovery/recovery-table';
import { ApiKeys } from '../../shared/tenancy/api-keys';
import { Tenants } from '../../shared/tenancy/tenants';
import { revisionOf, WarmTier } from '../../shared/warm/warm-tier';
import type { Stores } from './stores';

/** Sources scraped every 15 s: an hour in memory, the hour before in the warm table. */
export interface PromqlData {
  readonly apiKey: string;
  /** ms; each range is an hour and lies in one tier. */
  readonly ranges: Readonly<Record<'hot' | 'warm', { readonly fromMs: number; readonly toMs: number }>>;
  /** Remote write requests of the same samples, of some sources each. */
  readonly requests: () => Generator<Uint8Array>;
}

const SCRAPE_MS = 15_000;
const HOUR_MS = 3_600_000;
const MODES = ['user', 'system', 'idle', 'iowait'];
/** Series `y_total` of each source, beside one `x_total`. */
const CORES = 10;
/** Sources written at a time. */
const PARALLEL = 16;
const SETTINGS = parseSettings({});
/** As Kinesis numbers records. */
const FIRST_SEQUENCE = 49590338271490256608559692538361571095921575989136588898n;
/** Sources of one remote write request, and the time that it covers. */
const SOURCES_A_REQUEST = 200;
const REQUEST_MS = 600_000;

interface SourcePlace {
  readonly group: GroupId;
  readonly ref: PartitionRef;
  readonly layout: Layout;
  /** By how much each series grows in a scrape. */
  readonly steps: Float64Array;
}

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

function valueAt(step: number, ms: number): number {
  // A counter that begins again every 37 minutes.
  return Math.round((ms % 2_220_000) / SCRAPE_MS) * step;
}

export async function writePromqlData(
  { address, environment, redisUrl }: Stores,
  sources: number,
  nowMs: number,
): Promise<PromqlData> {
  const dynamodb = new DynamoDBClient(address);
  const client = connectHot(redisUrl);
  try {
    const meta = { client: dynamodb, name: environment[ENV.metaTable]! };
    const hot = new HotTier(client, SETTINGS.streamRetention);
    const warm = new WarmTier({ client: dynamodb, name: environment[ENV.warmTable]! }, SETTINGS.warmTtl);
    const catalogue = new Catalogue(meta, SETTINGS.retention);
    const manifest = new Manifest(meta);
    const tenants = new Tenants(meta);
    const losses = new LossWatch({ hot, table: new RecoveryTable(meta), lanes: 1, now: Date.now });
    const tenant = await tenants.create('promql', SETTINGS.partitions);
    const { key: apiKey } = await new ApiKeys(meta).create({ tenant: 'promql', rights: ['read'] });
    const toMs = Math.floor(nowMs / 60_000) * 60_000;
    const hotFromMs = Math.floor((toMs - HOUR_MS) / HOUR_MS) * HOUR_MS;
    const warmFromMs = hotFromMs - 2 * HOUR_MS;
    const places = Array.from({ length: sources }, (_, i): SourcePlace => {
      const layout = layoutOf(seriesOf(i));
      const sourceId = sourceIdOf(tenant.id, sourceOf.labels(layout.series[0]!));
      return {
        group: groupIdOf(sourceId, 0, 0),
        ref: { tenantId: tenant.id, partition: partitionOf(sourceId, SETTINGS.partitions) },
        layout,
        steps: Float64Array.from(layout.series, (_, column) => 1 + ((i * 31 + column * 7) % 97)),
      };
    });
    const known = places.map(({ group, layout }) => ({
      group,
      id: layout.id,
      packed: packLayout(layout.bytes).packed,
      firstMs: warmFromMs,
    }));
    await catalogue.putAll(tenant.id, known, SETTINGS.window);
    const days = [...new Set([warmFromMs, hotFromMs - HOUR_MS, toMs].map(dayOf))];
    await catalogue.index.put(
      tenant.id,
      known.map(({ group, id, packed }) => ({ group, id, packed, days })),
    );
    for (const { ref } of new Map(places.map((place) => [place.ref.partition, place])).values()) {
      await losses.resolve(ref);
      for (const day of days) await manifest.announce(ref, day);
      // As the flushers that moved the earlier windows would have noted; else memory alone would answer.
      await client.hset(new HotKeys(ref).mark, 'left', hotFromMs);
    }
    await mapLimited(places, PARALLEL, async (place) => {
      const { group, ref, layout } = place;
      for (let at = hotFromMs; at < toMs; at += HOUR_MS)
        await hot.appender.append(ref, {
          arrivalMs: at,
          layouts: new Map([[layout.id, packLayout(layout.bytes)]]),
          windows: [
            {
              group,
              windowStart: at,
              frames: framesOf(place, at, Math.min(at + HOUR_MS, toMs)).map(encodeFrame),
            },
          ],
        });
      for (let at = warmFromMs; at < hotFromMs; at += HOUR_MS) {
        const chunk = encodeChunk(gather(layout, [layout], framesOf(place, at, at + HOUR_MS)));
        const item = { group, windowStart: at, layer: 0, startMs: at, chunk, revision: revisionOf(chunk) };
        await warm.put(ref, dayOf(at), item, undefined);
      }
    });
    return {
      apiKey,
      ranges: {
        // A window of five minutes before the first step lies in the same tier.
        hot: { fromMs: Math.max(hotFromMs + 300_000, toMs - HOUR_MS), toMs },
        warm: { fromMs: hotFromMs - HOUR_MS, toMs: hotFromMs },
      },
      requests: () => remoteWrites(places, warmFromMs, toMs),
    };
  } finally {
    client.disconnect();
    dynamodb.destroy();
  }
}

/** One frame a scrape of `[fromMs, toMs)`. */
function framesOf({ layout, steps }: SourcePlace, fromMs: number, toMs: number): Frame[] {
  const frames: Frame[] = [];
  for (let at = fromMs; at < toMs; at += SCRAPE_MS) {
    const values = steps.map((step) => valueAt(step, at));
    frames.push({
      layout: layout.idBytes,
      timestamp: at,
      version: { arrivalMs: at + 700, sequence: FIRST_SEQUENCE + BigInt(at) * 2n ** 20n },
      values: new Uint8Array(values.buffer),
    });
  }
  return frames;
}

/** Remote write 1.0 requests of the same samples, the earlier ones first: Prometheus refuses what is an hour behind. */
function* remoteWrites(places: readonly SourcePlace[], fromMs: number, toMs: number): Generator<Uint8Array> {
  for (let startMs = fromMs; startMs < toMs; startMs += REQUEST_MS)
    for (let i = 0; i < places.length; i += SOURCES_A_REQUEST)
      yield remoteWrite(
        places.slice(i, i + SOURCES_A_REQUEST),
        startMs,
        Math.min(startMs + REQUEST_MS, toMs),
      );
}

function remoteWrite(places: readonly SourcePlace[], fromMs: number, toMs: number): Uint8Array {
  const series = places.flatMap(({ layout, steps }) =>
    layout.series.map((labels, column) => {
      const parts = labels.map((pair) =>
        field(1, Buffer.concat(pair.map((text, part) => field(part + 1, Buffer.from(text))))),
      );
      for (let at = fromMs; at < toMs; at += SCRAPE_MS) parts.push(sample(valueAt(steps[column]!, at), at));
      return field(1, Buffer.concat(parts));
    }),
  );
  return snappyCompress(Buffer.concat(series));
}

function sample(value: number, ms: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return field(2, Buffer.concat([Buffer.of(9), bytes, Buffer.of(16), varint(ms)]));
}

function field(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.of((number << 3) | 2), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}
