import type { CatalogueWriter } from '../catalogue/catalogue-writer';
import type { RuntimeSettings } from '../platform/settings';
import type { Table } from '../platform/table';
import type { ReadDependencies } from '../query/read-plan';
import type { LossWatch } from '../recovery/loss-watch';
import type { RecoveryTable } from '../recovery/recovery-table';
import type { Hosts } from '../registry/hosts';
import type { Services } from '../registry/services';
import type { ApiKeys } from '../tenancy/api-keys';
import type { Tenants } from '../tenancy/tenants';
import type { UsageTable } from '../tenancy/usage-table';
import type { Lifetimes } from './lifetimes';
import type { Status } from './status';

/** Stores and settings that the operator function's commands use. */
export interface OperatorDependencies {
  readonly stage: RuntimeSettings;
  readonly tenants: Tenants;
  readonly keys: ApiKeys;
  readonly usage: UsageTable;
  readonly status: Status;
  readonly hosts: Hosts;
  readonly services: Services;
  /** The meta table, which holds everything but chunks. */
  readonly meta: Table;
  readonly read: ReadDependencies;
  readonly catalogue: CatalogueWriter;
  readonly recovery: RecoveryTable;
  readonly losses: Pick<LossWatch, 'lookAndRecord'>;
  readonly lifetimes: Lifetimes;
  /** Name of the archive's bucket. */
  readonly bucket: string;
  readonly now: () => number;
}
