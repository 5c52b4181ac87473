import type * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { ENV, type MetaKind } from '../../shared/platform/names';
import { ITEM_ACTIONS } from '../stores/tables';
import { API_TIMEOUT, addFunction, type FunctionProps } from './pipeline-function';

/** Kinds of documents that the registry writes. */
const DOCUMENTS: readonly MetaKind[] = [
  'alert-group-settings',
  'alert-logs',
  'alerts',
  'channels',
  'checks',
  'custom-identifiers',
  'dashboards',
  'downtimes',
  'graph-annotations',
  'graph-definitions',
  'group-index',
  'hosts',
  'metadata',
  'monitor-states',
  'monitors',
  'notification-groups',
  'open-alerts',
  'receivers',
  'retired-hosts',
  'rule-groups',
  'services',
  'silences',
];

/**
 * Stores hosts, services, roles, metadata, graphs, dashboards, rules and monitors. Also answers requests that
 * no route matches.
 */
export class Registry extends Construct {
  readonly function: lambda.Function;

  constructor(scope: Construct, id: string, props: FunctionProps) {
    super(scope, id);
    const { stream, tables } = props.stores;
    this.function = addFunction(this, {
      ...props,
      name: 'registry',
      description: 'Hosts, services and their metadata, and every request that no route matches',
      memoryMb: 512,
      timeout: API_TIMEOUT,
      invokedBy: 'api',
      environment: {
        [ENV.stream]: stream.stream.streamName,
        [ENV.metaTable]: tables.meta.tableName,
      },
    });
    // Deleting a service also deletes its metrics, and deletions are sent through the stream.
    stream.grantPut(this.function);
    tables.meta.grant(this.function, ...ITEM_ACTIONS.read);
    tables.grantMeta(this.function, DOCUMENTS, ...ITEM_ACTIONS.put, ...ITEM_ACTIONS.delete);
    tables.grantMeta(this.function, ['minute', 'usage'], ...ITEM_ACTIONS.write);
    // The outbox of notifications, for alerts changed by reports of checks or by users.
    tables.grantMeta(this.function, ['outbox'], ...ITEM_ACTIONS.put);
  }
}
