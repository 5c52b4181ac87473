import { Catalogue } from '../catalogue/catalogue';
import { ArchiveDirectory } from '../cold/archive-directory';
import { ColdTier } from '../cold/cold-tier';
import { Manifest } from '../cold/manifest';
import type { CallTimes } from '../platform/call-time';
import { settings, variable } from '../platform/environment';
import { ENV } from '../platform/names';
import { ReadGovernor } from '../query/read-governor';
import { KnownGaps, TableGaps } from '../recovery/gaps';
import { Imports } from '../recovery/imports';
import { LossWatch } from '../recovery/loss-watch';
import { RecoveryTable } from '../recovery/recovery-table';
import { Tenants } from '../tenancy/tenants';
import { WarmTier } from '../warm/warm-tier';
import { metaTable, objectReader, warmTable } from './aws-clients';
import { hotTier } from './hot-tier';
import { rollupDirectory } from './rollup-directory';

/**
 * Builds the stores and clients of a function that reads the three tiers. Uses the function's environment variables.
 */
export function readDependencies(times: CallTimes) {
  const {
    retention,
    warmTtl,
    purgeAfter: purgeAfterMs,
    archiveAfter: archiveAfterMs,
    maxSampleAge: maxSampleAgeMs,
    flusherLanes,
  } = settings();
  const meta = metaTable(times);
  const recovery = new RecoveryTable(meta);
  const governor = new ReadGovernor(recovery, Date.now);
  const hot = hotTier(times, () => governor.wait());
  const tenants = new Tenants(meta);
  return {
    hot,
    warm: new WarmTier(warmTable(times), warmTtl),
    cold: new ColdTier(objectReader(times), variable(ENV.bucket)),
    catalogue: new Catalogue(meta, retention),
    manifest: new Manifest(meta),
    directory: new ArchiveDirectory(meta, retention),
    rollups: rollupDirectory(meta, settings()),
    purgeAfterMs,
    archiveAfterMs,
    losses: new LossWatch({
      hot,
      table: recovery,
      lanes: flusherLanes,
      now: Date.now,
    }),
    gaps: new KnownGaps(new TableGaps(meta), Date.now),
    imports: new Imports(meta),
    maxSampleAgeMs,
    now: Date.now,
    tenants,
    governor,
  };
}
