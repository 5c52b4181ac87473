import { EvaluatorStore } from '../alerting/tasks/evaluator-store';
import { Status } from '../operations/status';
import { settings } from '../platform/environment';
import type { Table } from '../platform/table';
import type { ReadDependencies } from '../query/read-plan';
import { RecoveryTable } from '../recovery/recovery-table';
import type { UsageTable } from '../tenancy/usage-table';

/** Makes the reader of tenants' status, from the stores of a function that reads the tiers. */
export function tenantStatus({ hot, manifest }: ReadDependencies, usage: UsageTable, meta: Table): Status {
  const stage = settings();
  return new Status({
    hot,
    manifest,
    recovery: new RecoveryTable(meta),
    residencyMs: stage.window + stage.flushDelay,
    batchWindowMs: stage.batchWindow,
    archiveAfterMs: stage.archiveAfter,
    retentionMs: stage.retention,
    memoryCopies: stage.cacheReplicas + 1,
    evaluator: new EvaluatorStore(meta),
    usage,
    now: Date.now,
  });
}
