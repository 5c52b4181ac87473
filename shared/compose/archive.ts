import type { ArchiveDependencies } from '../archive/execute';
import type { RollupDependencies } from '../archive/rollup';
import { Catalogue } from '../catalogue/catalogue';
import { ArchiveDirectory } from '../cold/archive-directory';
import { ColdTier } from '../cold/cold-tier';
import { Manifest } from '../cold/manifest';
import { getDirectly } from '../platform/direct-object';
import { settings, variable } from '../platform/environment';
import { ENV } from '../platform/names';
import { Tenants } from '../tenancy/tenants';
import { WarmTier } from '../warm/warm-tier';
import { metaTable, objectStore, warmTable } from './aws-clients';
import { rollupDirectory } from './rollup-directory';

/** Builds the archiver's stores and clients from its environment variables. */
export function archiveDependencies(): ArchiveDependencies &
  RollupDependencies & { readonly tenants: Tenants } {
  const { retention, warmTtl } = settings();
  const table = metaTable();
  return {
    tenants: new Tenants(table),
    warm: new WarmTier(warmTable(), warmTtl),
    cold: new ColdTier(getDirectly(objectStore()), variable(ENV.bucket)),
    catalogue: new Catalogue(table, retention),
    manifest: new Manifest(table),
    directory: new ArchiveDirectory(table, retention),
    rollups: rollupDirectory(table, settings()),
    now: Date.now,
  };
}
