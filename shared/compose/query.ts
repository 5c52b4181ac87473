import { Status } from '../operations/status';
import { ANSWERING } from '../platform/call-time';
import { settings } from '../platform/environment';
import { RecoveryTable } from '../recovery/recovery-table';
import { Hosts } from '../registry/hosts';
import { Services } from '../registry/services';
import { ApiKeys } from '../tenancy/api-keys';
import { TenantMeter } from '../tenancy/tenant-meter';
import { UsageTable } from '../tenancy/usage-table';
import { readDependencies } from './read';
import { metaTable } from './tables';

/** The adapters of the query function, from its environment. */
export function queryDependencies() {
  const stage = settings();
  const table = metaTable(ANSWERING);
  const usage = new UsageTable(table);
  const read = readDependencies(ANSWERING);
  return {
    read,
    hosts: new Hosts(table),
    services: new Services(table),
    gatekeeper: {
      keys: new ApiKeys(table),
      tenants: read.tenants,
      meter: new TenantMeter(usage, stage),
    },
    status: new Status({
      hot: read.hot,
      manifest: read.manifest,
      recovery: new RecoveryTable(table),
      residencyMs: stage.window + stage.flushDelay,
      batchWindowMs: stage.batchWindow,
      archiveAfterMs: stage.archiveAfter,
      retentionMs: stage.retention,
      memoryCopies: stage.cacheReplicas + 1,
      usage,
      now: Date.now,
    }),
    retentionMs: stage.retention,
  };
}
