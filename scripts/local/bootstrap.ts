import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { connectHot } from '../../shared/hot/connection';
import { HotTier } from '../../shared/hot/hot-tier';
import { allPartitions } from '../../shared/model/partitions';
import type { RuntimeSettings } from '../../shared/platform/settings';
import { Services } from '../../shared/registry/services';
import { ApiKeys } from '../../shared/tenancy/api-keys';
import { type Tenant, Tenants } from '../../shared/tenancy/tenants';
import type { AwsAddress } from './provision';

/** File in the data directory that contains the key as text. Only its owner can read it. */
export const KEY_FILE = 'api-key';
/** The only tenant of the local stack. */
export const LOCAL_TENANT = 'default';

export interface BootstrapOptions {
  /** The stand-in for AWS. */
  readonly aws: AwsAddress;
  readonly metaTable: string;
  readonly dataDir: string;
  readonly settings: RuntimeSettings;
  readonly redisUrl: string;
}

/**
 * Creates the local tenant, its services and its key, unless they exist. The store holds only a hash of the key. The
 * data directory holds the key as text, so that the next start can print it.
 */
export async function bootstrap(options: BootstrapOptions): Promise<{ apiKey: string }> {
  const client = new DynamoDBClient(options.aws);
  try {
    const table = { client, name: options.metaTable };
    const tenant = await new Tenants(table).create(LOCAL_TENANT, options.settings.partitions);
    const services = new Services(table);
    for (const name of options.settings.services) await services.create(tenant.id, name);
    await vouchForMemory(options.redisUrl, await new Tenants(table).list());
    return { apiKey: await keyFor(new ApiKeys(table), join(options.dataDir, KEY_FILE)) };
  } finally {
    client.destroy();
  }
}

/**
 * Marks restored memory as complete. An orderly stop saved all of memory, but a new server process holds it now, and
 * its identity differs from the one in the marks. Without new marks, this would look like a loss and cause a replay.
 * After a server was killed, there is nothing to mark.
 */
async function vouchForMemory(redisUrl: string, tenants: readonly Tenant[]): Promise<void> {
  const hot = new HotTier(connectHot(redisUrl), 0);
  for (const ref of allPartitions(tenants)) {
    const mark = await hot.marks.read(ref);
    if (mark.state === 'bad') await hot.marks.takeOver(ref, mark);
  }
  await hot.close();
}

async function keyFor(keys: ApiKeys, file: string): Promise<string> {
  const existing = await readFile(file, 'utf8').catch(() => undefined);
  if (existing !== undefined && (await keys.verify(existing.trim())) !== undefined) return existing.trim();
  const { key } = await keys.create({ tenant: LOCAL_TENANT, rights: ['read', 'write'] });
  await writeFile(file, `${key}\n`, { mode: 0o600 });
  return key;
}
