import { Duration } from 'aws-cdk-lib';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { ENV } from '../../shared/platform/names';
import { ITEM_ACTIONS } from '../stores/tables';
import { addFunction, type FunctionProps } from './pipeline-function';

/**
 * Puts deletions into the stream for `npm run ops -- delete`. It runs outside the VPC, because Kinesis cannot be
 * reached from inside.
 */
export class Deleter extends Construct {
  readonly function: lambda.Function;

  constructor(scope: Construct, id: string, props: FunctionProps) {
    super(scope, id);
    const { stream, tables } = props.stores;
    this.function = addFunction(this, {
      ...props,
      name: 'deleter',
      description: 'Puts deletions into the stream',
      memoryMb: 512,
      timeout: Duration.minutes(2),
      invokedBy: 'operator',
      environment: {
        [ENV.stream]: stream.stream.streamName,
        [ENV.metaTable]: tables.meta.tableName,
      },
    });
    stream.grantPut(this.function);
    tables.meta.grant(this.function, ...ITEM_ACTIONS.read);
  }
}
