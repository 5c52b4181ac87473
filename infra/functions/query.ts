import type * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { ENV } from '../../shared/platform/names';
import { ITEM_ACTIONS } from '../stores/tables';
import { QUERY_NODE_OPTIONS } from './node-options';
import { API_TIMEOUT, addFunction, type FunctionProps } from './pipeline-function';

/** Answers reads from the three tiers. */
export class Query extends Construct {
  readonly function: lambda.Function;

  constructor(scope: Construct, id: string, props: FunctionProps) {
    super(scope, id);
    const { hotTier, tables, bucket } = props.stores;
    this.function = addFunction(this, {
      ...props,
      name: 'query',
      description: 'Reads the three tiers as one',
      memoryMb: 1769,
      timeout: API_TIMEOUT,
      invokedBy: 'api',
      isInVpc: true,
      reservedConcurrency: props.config.settings.queryConcurrency,
      environment: {
        [ENV.warmTable]: tables.warm.tableName,
        [ENV.metaTable]: tables.meta.tableName,
        [ENV.bucket]: bucket.bucket.bucketName,
        [ENV.redis]: hotTier.url,
        NODE_OPTIONS: QUERY_NODE_OPTIONS,
      },
    });
    hotTier.grantConnect(this.function);
    for (const table of [tables.warm, tables.meta])
      table.grant(this.function, ...ITEM_ACTIONS.read, ...ITEM_ACTIONS.readMany);
    tables.grantMeta(this.function, ['minute', 'usage'], ...ITEM_ACTIONS.count);
    bucket.grantReadArchive(this.function);
  }
}
