import { Catalogue } from '../catalogue/catalogue';
import { ColdTier } from '../cold/cold-tier';
import { Manifest } from '../cold/manifest';
import { settings, variable } from '../platform/environment';
import { ENV } from '../platform/names';
import type { ReadDependencies } from '../query/read';
import { LossWatch } from '../recovery/loss-watch';
import { RecoveryTable } from '../recovery/recovery-table';
import { Tenants } from '../tenancy/tenants';
import { WarmTier } from '../warm/warm-tier';
import { hotTier } from './hot-tier';
import { objectStore } from './object-store';
import { metaTable, warmTable } from './tables';

/** What a function that reads the three tiers works with, from its environment. */
export function readDependencies(): ReadDependencies & { readonly tenants: Tenants } {
  const { retention, warmTtl, maxSampleAge: maxSampleAgeMs, flusherLanes } = settings();
  const meta = metaTable();
  const hot = hotTier();
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
