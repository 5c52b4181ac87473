import { rmSync } from 'node:fs';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { GetObjectCommand, ListObjectsV2Command, NoSuchKey, S3Client } from '@aws-sdk/client-s3';
import { ConfiguredRetryStrategy } from '@smithy/core/retry';
import { Redis } from 'ioredis';
import { localAws, provision, tableOf } from '../../scripts/local/provision';
import { startAws, startHotServer } from '../../scripts/local/servers';
import { physicalName } from '../../scripts/local/template';
import type { ArchiveLimits } from '../../shared/archive/execute';
import { CatalogueWriter } from '../../shared/catalogue/catalogue-writer';
import { ArchiveDirectory } from '../../shared/cold/archive-directory';
import { ColdTier } from '../../shared/cold/cold-tier';
import { Manifest } from '../../shared/cold/manifest';
import { connectHot } from '../../shared/hot/connection';
import { HotTier } from '../../shared/hot/hot-tier';
import { CommonLayouts } from '../../shared/ingest/common-layouts';
import type { Day, PartitionRef } from '../../shared/model/placement';
import { parseSettings } from '../../shared/platform/settings';
import { SelectionCache } from '../../shared/query/selection-cache';
import { SourceDeletions } from '../../shared/query/source-deletions';
import { TenantIndexes } from '../../shared/query/tenant-index';
import { KnownGaps, TableGaps } from '../../shared/recovery/gaps';
import { Imports } from '../../shared/recovery/imports';
import { LossWatch } from '../../shared/recovery/loss-watch';
import { RecoveryTable } from '../../shared/recovery/recovery-table';
import { HostLabels } from '../../shared/registry/host-labels';
import { Hosts } from '../../shared/registry/hosts';
import { Services } from '../../shared/registry/services';
import { DeletedTenants } from '../../shared/tenancy/deleted-tenants';
import { SeriesCounter } from '../../shared/tenancy/series-counter';
import { Tenants } from '../../shared/tenancy/tenants';
import { UsageTable } from '../../shared/tenancy/usage-table';
import { WarmTier } from '../../shared/warm/warm-tier';
import { temporaryDir } from './temporary-dir';

const DAY_MS = 86_400_000;
const [RETRIES, RETRY_MS] = [8, 5];

/** The archiver's limits in a stage with the default settings, and with time enough. */
export const ARCHIVE_LIMITS: ArchiveLimits = {
  partBytes: parseSettings({}).archivePartBytes,
  mustStop: () => false,
};

export type Tiers = ReturnType<typeof connectTiers>;

export interface TiersOptions {
  /** Address of a running hot tier. @default a new server */
  readonly redisUrl?: string;
  /**
   * Whether the stand-in for AWS uses AWS's freedoms, such as throttling, stale reads and lost answers. @default
   * true
   */
  readonly hasFreedoms?: boolean;
}

/** Starts the tiers on real servers, without functions. */
export async function startTiers({ redisUrl, hasFreedoms = true }: TiersOptions = {}): Promise<Tiers> {
  const dir = temporaryDir();
  const hotServer =
    redisUrl === undefined
      ? await startHotServer(
          dir,
          () => {},
          () => {},
        )
      : undefined;
  const url = redisUrl ?? `redis://127.0.0.1:${hotServer!.port}`;
  const awsServer = await startAws(
    dir,
    () => {},
    () => {},
    { hasFreedoms },
  );
  await provision(localAws(awsServer.port), {
    tables: ['Warm', 'Meta'].map(tableOf),
    streams: [],
    buckets: [{ logicalId: 'Bucket' }],
  });
  const tiers = connectTiers(url, awsServer.port);
  return {
    ...tiers,
    stop: async () => {
      await tiers.stop();
      await Promise.all([hotServer?.stop(), awsServer.stop()]);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/**
 * Connects to the tiers that another process has started.
 *
 * @param mayRead resolves when a call that reads memory may start
 */
export function connectTiers(redisUrl: string, awsPort: number, mayRead?: () => Promise<void>) {
  const aws = localAws(awsPort);
  // AWS's freedoms apply only to calls by functions. The stand-in recognizes these by their session token.
  const asFunction = {
    ...aws,
    credentials: { ...aws.credentials, sessionToken: 'tiers' },
    // The SDK's default delays between retries would take most of a test's time.
    retryStrategy: new ConfiguredRetryStrategy(RETRIES, RETRY_MS),
  };
  const dynamodb = new DynamoDBClient(asFunction);
  const adapterS3 = new S3Client({ ...asFunction, forcePathStyle: true });
  const s3 = new S3Client({ ...aws, forcePathStyle: true });
  let calls = 0;
  const count =
    <In, Out>(next: (args: In) => Promise<Out>) =>
    (args: In) => {
      calls++;
      return next(args);
    };
  dynamodb.middlewareStack.add(count, { step: 'initialize' });
  adapterS3.middlewareStack.add(count, { step: 'initialize' });
  const redis = new Redis(redisUrl);
  const hot = new HotTier(connectHot(redisUrl), 3 * DAY_MS, mayRead);
  const meta = { client: dynamodb, name: physicalName('Meta') };
  const catalogue = new CatalogueWriter(meta, 460 * DAY_MS);
  const recovery = new RecoveryTable(meta);
  const tenants = new Tenants(meta);
  const bucket = physicalName('Bucket');
  const cold = new ColdTier(adapterS3, bucket);
  const manifest = new Manifest(meta);
  const hosts = new Hosts(meta);
  const services = new Services(meta);
  return {
    indexes: new TenantIndexes(catalogue, 460 * DAY_MS, Date.now),
    hosts,
    services,
    hostLabels: new HostLabels(hosts, services),
    hot,
    /** The hot tier's address. */
    redisUrl,
    /** Port of the stand-in for AWS. */
    awsPort,
    /** A client of the hot tier's server. */
    redis,
    recovery,
    /** The meta table, which holds everything except chunks. */
    meta,
    tenants,
    losses: new LossWatch({ hot, table: recovery, lanes: 1, now: Date.now }),
    // Stop the clock of the gaps: tests count the requests of a read, and reading the gaps again would add to them.
    gaps: new KnownGaps(new TableGaps(meta), () => 0),
    imports: new Imports(meta),
    maxSampleAgeMs: DAY_MS,
    now: Date.now,
    warm: new WarmTier({ client: dynamodb, name: physicalName('Warm') }, 35 * DAY_MS),
    cold,
    s3,
    bucket,
    /** Returns the bucket's objects below a prefix, by key. */
    objects: async (prefix: string): Promise<Map<string, Uint8Array>> => {
      for (;;) {
        const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix }));
        const found = new Map<string, Uint8Array>();
        try {
          for (const { Key } of Contents) {
            const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: Key! }));
            found.set(Key!, await Body!.transformToByteArray());
          }
          return found;
        } catch (error) {
          // The object was replaced after it was listed. Its successor is in the listing.
          if (!(error instanceof NoSuchKey)) throw error;
        }
      }
    },
    catalogue,
    /** Returns a catalogue as another instance has it, with empty caches. */
    newCatalogue: () => new CatalogueWriter(meta, 460 * DAY_MS),
    newSeries: new SeriesCounter(catalogue, new UsageTable(meta)),
    commonLayouts: new CommonLayouts(),
    manifest,
    directory: new ArchiveDirectory(meta, 460 * DAY_MS),
    // Tests purge immediately.
    purgeAfterMs: 0,
    archiveAfterMs: 2 * DAY_MS,
    selections: new SelectionCache(),
    deletions: new SourceDeletions(catalogue.deletions),
    deletedTenants: new DeletedTenants(new Tenants(meta)),
    /** Returns the chunks in a partition-day's objects, as the manifest names them. */
    archivedChunks: async (ref: PartitionRef, day: Day) => {
      const { archived } = (await manifest.get(ref, day)) ?? {};
      const objects = await Promise.all((archived?.parts ?? []).map(({ key }) => cold.open(key)));
      return objects.flatMap((object) => object!.reader.chunks);
    },
    /** Returns the number of requests to DynamoDB and S3 so far. */
    calls: () => calls,
    stop: async () => {
      redis.disconnect();
      await hot.close();
      dynamodb.destroy();
      adapterS3.destroy();
      s3.destroy();
    },
  };
}
