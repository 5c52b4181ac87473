import { ANSWERING } from '../platform/call-time';
import { settings } from '../platform/environment';
import { Hosts } from '../registry/hosts';
import { Services } from '../registry/services';
import { ApiKeys } from '../tenancy/api-keys';
import { TenantMeter } from '../tenancy/tenant-meter';
import { UsageTable } from '../tenancy/usage-table';
import { readDependencies } from './read';
import { tenantStatus } from './status';
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
    status: tenantStatus(read, usage, table),
    retentionMs: stage.retention,
  };
}
