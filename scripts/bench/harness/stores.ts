import { join } from 'node:path';
import { Redis } from 'ioredis';
import { ENV } from '../../../shared/platform/names';
import { parseSettings } from '../../../shared/platform/settings';
import { localAws, provision, tableOf } from '../../local/provision';
import { startAws, startHotServer } from '../../local/servers';
import { physicalName } from '../../local/template';
import type { Harness } from './harness';

export type Stores = Awaited<ReturnType<typeof startStores>>;

const [META, WARM, BUCKET] = ['meta', 'warm', 'bucket'] as const;

/**
 * Starts a real Valkey and the stand-in for AWS with tables and bucket. They end with the run. `environment` points
 * functions to them.
 */
export async function startStores(harness: Harness) {
  const lost = (what: string) => () => {
    throw new Error(`${what} ended in the middle of the benchmark`);
  };
  const hot = await startHotServer(join(harness.dir, 'hot'), () => {}, lost('the hot tier'));
  harness.atEnd(() => hot.stop());
  const aws = await startAws(harness.dir, () => {}, lost('the stand-in for AWS'));
  harness.atEnd(() => aws.stop());
  const address = localAws(aws.port);
  await provision(address, {
    tables: [META, WARM].map(tableOf),
    streams: [],
    buckets: [{ logicalId: BUCKET }],
  });
  const redisUrl = `redis://127.0.0.1:${hot.port}`;
  const redis = new Redis(redisUrl);
  harness.atEnd(() => redis.disconnect());
  return {
    hot,
    aws,
    redis,
    redisUrl,
    address,
    environment: {
      PATH: process.env.PATH,
      AWS_REGION: address.region,
      AWS_ACCESS_KEY_ID: address.credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: address.credentials.secretAccessKey,
      AWS_ENDPOINT_URL: address.endpoint,
      [ENV.settings]: JSON.stringify(parseSettings({})),
      [ENV.metaTable]: physicalName(META),
      [ENV.warmTable]: physicalName(WARM),
      [ENV.bucket]: physicalName(BUCKET),
      [ENV.redis]: redisUrl,
    } as NodeJS.ProcessEnv,
  };
}
