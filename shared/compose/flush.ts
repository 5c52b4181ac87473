import { CatalogueWriter } from '../catalogue/catalogue-writer';
import { Manifest } from '../cold/manifest';
import { settings } from '../platform/environment';
import { LossWatch } from '../recovery/loss-watch';
import { RecoveryTable } from '../recovery/recovery-table';
import { Tenants } from '../tenancy/tenants';
import { UsageTable } from '../tenancy/usage-table';
import { WarmTier } from '../warm/warm-tier';
import { metaTable, warmTable } from './aws-clients';
import { hotTier } from './hot-tier';

/** Builds the flusher's stores and clients from its environment variables. */
export function flusherDependencies() {
  const stage = settings();
  const { retention, warmTtl, flusherLanes: lanes } = stage;
  const meta = metaTable();
  const hot = hotTier();
  const tenants = new Tenants(meta);
  const recovery = new RecoveryTable(meta);
  return {
    hot,
    warm: new WarmTier(warmTable(), warmTtl),
    catalogue: new CatalogueWriter(meta, retention),
    manifest: new Manifest(meta),
    tenants,
    recovery,
    losses: new LossWatch({ hot, table: recovery, lanes, now: Date.now }),
    usage: new UsageTable(meta),
    windowMs: stage.window,
    warmTtlMs: warmTtl,
    stage,
    now: Date.now,
  };
}
