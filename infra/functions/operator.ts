import { Duration } from 'aws-cdk-lib';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { ENV } from '../../shared/platform/names';
import { ITEM_ACTIONS } from '../stores/tables';
import { addFunction, addSchedule, type FunctionProps, LONGEST_TIMEOUT } from './pipeline-function';

/** Runs operator commands. Every hour it also erases data of deleted tenants and counts series. */
export class Operator extends Construct {
  readonly function: lambda.Function;

  constructor(scope: Construct, id: string, props: FunctionProps) {
    super(scope, id);
    const { hotTier, tables, bucket } = props.stores;
    this.function = addFunction(this, {
      ...props,
      name: 'operator',
      description: 'Answers operator commands, erases what deleted tenants left, counts series',
      memoryMb: 1769,
      timeout: LONGEST_TIMEOUT,
      invokedBy: 'schedule',
      isInVpc: true,
      environment: {
        [ENV.warmTable]: tables.warm.tableName,
        [ENV.metaTable]: tables.meta.tableName,
        [ENV.bucket]: bucket.bucket.bucketName,
        [ENV.redis]: hotTier.url,
      },
    });
    hotTier.grantConnect(this.function);
    tables.warm.grant(this.function, ...ITEM_ACTIONS.read, ...ITEM_ACTIONS.readMany, ...ITEM_ACTIONS.delete);
    tables.meta.grant(
      this.function,
      ...ITEM_ACTIONS.read,
      ...ITEM_ACTIONS.write,
      ...ITEM_ACTIONS.insert,
      ...ITEM_ACTIONS.delete,
      ...ITEM_ACTIONS.scan,
    );
    bucket.grantReadArchive(this.function);
    bucket.grantEraseArchive(this.function);
    addSchedule(this.function, 'Sweep', { every: Duration.hours(1), event: { command: 'sweep' } });
  }
}
