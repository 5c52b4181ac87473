import { ReceiverStore } from '../alerting/delivery/receivers';
import { SilenceStore } from '../alerting/delivery/silence-store';
import { TaskStates } from '../alerting/tasks/task-states';
import type { Downtime } from '../monitors/downtime';
import type { Monitor } from '../monitors/monitor';
import type { MonitorState } from '../monitors/monitor-state';
import { REQUEST_CALL_TIMES } from '../platform/call-time';
import { settings } from '../platform/environment';
import { SelectionCache } from '../query/selection-cache';
import { SourceDeletions } from '../query/source-deletions';
import { TenantIndexes } from '../query/tenant-index';
import { TenantQueries } from '../query/tenant-queries';
import { AutoIdDocuments } from '../registry/auto-id-documents';
import { HostLabels } from '../registry/host-labels';
import { Hosts } from '../registry/hosts';
import { MetricMetadataStore } from '../registry/metric-metadata';
import { Services } from '../registry/services';
import type { RuleGroupState } from '../rules/rule-group-state';
import { RuleGroups } from '../rules/rule-groups';
import { ApiKeys } from '../tenancy/api-keys';
import { QueryBudgets } from '../tenancy/query-budgets';
import { TenantMeter } from '../tenancy/tenant-meter';
import type { Tenant } from '../tenancy/tenants';
import { UsageTable } from '../tenancy/usage-table';
import { metaTable } from './aws-clients';
import { readDependencies } from './read';
import { tenantStatus } from './status';

/** Builds the query function's stores and clients from its environment variables. */
export function queryDependencies() {
  const stage = settings();
  const table = metaTable(REQUEST_CALL_TIMES);
  const usage = new UsageTable(table);
  const meter = new TenantMeter(usage, stage);
  const hosts = new Hosts(table);
  const services = new Services(table);
  const { governor, ...base } = readDependencies(REQUEST_CALL_TIMES);
  const dependencies = {
    ...base,
    indexes: new TenantIndexes(base.catalogue, stage.retention, Date.now),
    hostLabels: new HostLabels(hosts, services),
    selections: new SelectionCache(),
    deletions: new SourceDeletions(base.catalogue.deletions),
  };
  return {
    dependencies,
    governor,
    hosts,
    services,
    metricMetadata: new MetricMetadataStore(table),
    receivers: new ReceiverStore(table),
    ruleGroups: new RuleGroups(table),
    ruleStates: new TaskStates<RuleGroupState>(table, 'rule'),
    silences: new SilenceStore(table),
    monitors: new AutoIdDocuments<Monitor>(table, 'monitors'),
    monitorStates: new TaskStates<MonitorState>(table, 'monitor'),
    downtimes: new AutoIdDocuments<Downtime>(table, 'downtimes'),
    gatekeeper: {
      keys: new ApiKeys(table),
      tenants: dependencies.tenants,
      meter,
      queries: new QueryBudgets(usage, meter),
    },
    status: tenantStatus(dependencies, usage, table),
    queriesOf: (tenant: Tenant) => new TenantQueries(dependencies, stage, tenant),
    retentionMs: stage.retention,
    stage,
  };
}
