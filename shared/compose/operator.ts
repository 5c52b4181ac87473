import { CatalogueWriter } from '../catalogue/catalogue-writer';
import { Lifetimes } from '../operations/lifetimes';
import type { OperatorDependencies } from '../operations/operator-dependencies';
import { WORKING } from '../platform/call-time';
import { settings, variable } from '../platform/environment';
import { ENV } from '../platform/names';
import { RecoveryTable } from '../recovery/recovery-table';
import { Hosts } from '../registry/hosts';
import { Services } from '../registry/services';
import { ApiKeys } from '../tenancy/api-keys';
import { UsageTable } from '../tenancy/usage-table';
import { metaTable } from './aws-clients';
import { readDependencies } from './read';
import { tenantStatus } from './status';

/** Builds the operator function's stores and clients from its environment variables. */
export function operatorDependencies(): OperatorDependencies {
  const meta = metaTable();
  const read = readDependencies(WORKING);
  const stage = settings();
  const usage = new UsageTable(meta);
  return {
    stage,
    tenants: read.tenants,
    keys: new ApiKeys(meta),
    usage,
    status: tenantStatus(read, usage, meta),
    hosts: new Hosts(meta),
    services: new Services(meta),
    meta,
    read,
    catalogue: new CatalogueWriter(meta, stage.retention),
    recovery: new RecoveryTable(meta),
    losses: read.losses,
    lifetimes: new Lifetimes(meta, stage.retention),
    bucket: variable(ENV.bucket),
    now: Date.now,
  };
}
