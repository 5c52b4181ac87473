import type { OperatorDependencies } from '../operations/operator-dependencies';
import { metaTable, settings, variable } from '../platform/environment';
import { ENV } from '../platform/names';
import { RecoveryTable } from '../recovery/recovery-table';
import { ApiKeys } from '../tenancy/api-keys';
import { UsageTable } from '../tenancy/usage-table';
import { objectStore } from './object-store';
import { readDependencies } from './read';

/** What the operator function works with, from its environment. */
export function operatorDependencies(): OperatorDependencies {
  const meta = metaTable();
  const read = readDependencies();
  return {
    stage: settings(),
    tenants: read.tenants,
    keys: new ApiKeys(meta),
    usage: new UsageTable(meta),
    meta,
    read,
    erasure: {
      hot: read.hot,
      warm: read.warm,
      meta,
      manifest: read.manifest,
      recovery: new RecoveryTable(meta),
      s3: objectStore(),
      bucket: variable(ENV.bucket),
    },
    now: Date.now,
  };
}
