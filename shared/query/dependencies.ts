import { ColdTier } from '../cold/cold-tier';
import { metaTable, settings, variable, warmTable } from '../environment';
import { connectHot } from '../hot/connection';
import { HotTier } from '../hot/hot-tier';
import { Catalogue } from '../meta/catalogue';
import { Manifest } from '../meta/manifest';
import { Tenants } from '../meta/tenants';
import { ENV } from '../names';
import { objectStore } from '../object-store';
import { LossWatch } from '../recovery/loss-watch';
import { RecoveryTable } from '../recovery/recovery-table';
import { WarmTier } from '../warm/warm-tier';
import type { ReadDependencies } from './read';

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
    tenants,
  };
}
