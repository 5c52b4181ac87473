import { Catalogue } from '../catalogue/catalogue';
import { ColdTier } from '../cold/cold-tier';
import { Manifest } from '../cold/manifest';
import { connectHot } from '../hot/connection';
import { HotTier } from '../hot/hot-tier';
import { metaTable, settings, variable, warmTable } from '../platform/environment';
import { ENV } from '../platform/names';
import type { ReadDependencies } from '../query/read';
import { LossWatch } from '../recovery/loss-watch';
import { RecoveryTable } from '../recovery/recovery-table';
import { Tenants } from '../tenancy/tenants';
import { WarmTier } from '../warm/warm-tier';
import { objectStore } from './object-store';

/** What a function that reads the three tiers works with, from its environment. */
export function readDependencies(): ReadDependencies & { readonly tenants: Tenants } {
  const { retention, streamRetention, warmTtl, maxSampleAge: maxSampleAgeMs, flusherLanes } = settings();
  const meta = metaTable();
  const hot = new HotTier(connectHot(variable(ENV.redis)), streamRetention);
  const tenants = new Tenants(meta);
  return {
    hot,
    warm: new WarmTier(warmTable(), warmTtl),
    cold: new ColdTier(objectStore(), variable(ENV.bucket)),
    catalogue: new Catalogue(meta, retention),
    manifest: new Manifest(meta),
    losses: new LossWatch({
      hot,
      table: new RecoveryTable(meta),
      tenants,
      lanes: flusherLanes,
      now: Date.now,
    }),
    maxSampleAgeMs,
    now: Date.now,
    tenants,
  };
}
