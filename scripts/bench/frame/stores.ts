import { join } from 'node:path';
import { Redis } from 'ioredis';
import { ENV } from '../../../shared/platform/names';
import { parseSettings } from '../../../shared/platform/settings';
import { type AwsAddress, localAws, provision, tableOf } from '../../local/provision';
import { type Server, startAws, startHotServer } from '../../local/servers';
import { physicalName } from '../../local/template';
import type { Frame } from './frame';

/**
 * A real Valkey, the stand-in for AWS with tables and bucket, and the environment that points functions to
 * them.
 */
export interface Stores {
  readonly hot: Server;
  readonly aws: Server;
  readonly redis: Redis;
  readonly redisUrl: string;
  readonly address: AwsAddress;
  readonly environment: NodeJS.ProcessEnv;
}

const [META, WARM, BUCKET] = ['meta', 'warm', 'bucket'] as const;

/** Starts the stores. They end with the run. */
export async function startStores(frame: Frame): Promise<Stores> {
  const lost = (what: string) => () => {
    throw new Error(`${what} ended in the middle of the benchmark`);
  };
  const hot = await startHotServer(join(frame.dir, 'hot'), () => {}, lost('the hot tier'));
  frame.atEnd(() => hot.stop());
  const aws = await startAws(frame.dir, () => {}, lost('the stand-in for AWS'));
  frame.atEnd(() => aws.stop());
  const address = localAws(aws.port);
  await provision(address, {
    tables: [META, WARM].map(tableOf),
    streams: [],
    buckets: [{ logicalId: BUCKET }],
  });
  const redisUrl = `redis://127.0.0.1:${hot.port}`;
  const redis = new Redis(redisUrl);
  frame.atEnd(() => redis.disconnect());
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
    },
  };
}
