import { ReceiverStore } from '../alerting/delivery/receivers';
import { SilenceStore } from '../alerting/delivery/silence-store';
import { EvaluatorStore } from '../alerting/tasks/evaluator-store';
import { TaskIndex } from '../alerting/tasks/task-index';
import { TaskStates } from '../alerting/tasks/task-states';
import { AlertStore } from '../monitors/alert-store';
import type { Channel } from '../monitors/channel';
import { CheckStore } from '../monitors/check-store';
import type { ClosingStores } from '../monitors/close-alert';
import type { Downtime } from '../monitors/downtime';
import type { Monitor } from '../monitors/monitor';
import type { MonitorState } from '../monitors/monitor-state';
import type { AlertGroupSetting } from '../monitors/notification-group';
import { NotificationGroups } from '../monitors/notification-groups';
import { REQUEST_CALL_TIMES } from '../platform/call-time';
import { settings } from '../platform/environment';
import { AutoIdDocuments } from '../registry/auto-id-documents';
import { Dashboards } from '../registry/dashboards';
import type { GraphAnnotation } from '../registry/graph-annotations';
import { GraphDefinitions } from '../registry/graph-definitions';
import { HostCount } from '../registry/host-count';
import { HostRegistration } from '../registry/host-registration';
import { Hosts } from '../registry/hosts';
import { MetadataStore } from '../registry/metadata';
import { Services } from '../registry/services';
import type { RuleGroupState } from '../rules/rule-group-state';
import { RuleGroups } from '../rules/rule-groups';
import { ApiKeys } from '../tenancy/api-keys';
import { TenantMeter } from '../tenancy/tenant-meter';
import { Tenants } from '../tenancy/tenants';
import { UsageTable } from '../tenancy/usage-table';
import { metaTable } from './aws-clients';

/** Builds the registry function's stores and clients from its environment variables. */
export function registryDependencies() {
  const table = metaTable(REQUEST_CALL_TIMES);
  const hosts = new Hosts(table);
  const services = new Services(table);
  const evaluatorStore = new EvaluatorStore(table);
  const alerts = new AlertStore(table, settings().retention);
  const checks = new CheckStore(table, evaluatorStore);
  const monitorStates = new TaskStates<MonitorState>(table, 'monitor');
  return {
    alerts,
    checks,
    monitorStates,
    closing: { alerts, checks, monitorStates, evaluatorStore, hosts, services } satisfies ClosingStores,
    gatekeeper: {
      keys: new ApiKeys(table),
      tenants: new Tenants(table),
      meter: new TenantMeter(new UsageTable(table), settings()),
    },
    hosts,
    services,
    registration: new HostRegistration(hosts, services, new HostCount(table)),
    metadata: new MetadataStore(table),
    graphDefinitions: new GraphDefinitions(table),
    annotations: new AutoIdDocuments<GraphAnnotation>(table, 'graph-annotations'),
    ruleGroups: new RuleGroups(table),
    taskIndex: new TaskIndex(table),
    ruleStates: new TaskStates<RuleGroupState>(table, 'rule'),
    evaluatorStore,
    receivers: new ReceiverStore(table),
    silences: new SilenceStore(table),
    monitors: new AutoIdDocuments<Monitor>(table, 'monitors'),
    downtimes: new AutoIdDocuments<Downtime>(table, 'downtimes'),
    channels: new AutoIdDocuments<Channel>(table, 'channels'),
    notificationGroups: new NotificationGroups(table),
    alertGroupSettings: new AutoIdDocuments<AlertGroupSetting>(table, 'alert-group-settings'),
    dashboards: new Dashboards(table),
    allowsPrivateReceivers: settings().privateReceivers === 'on',
    alertTopics: settings().alertTopics,
    sendsMail: settings().mailTopic !== '',
  };
}
