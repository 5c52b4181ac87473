import { Duration } from 'aws-cdk-lib';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { ENV } from '../../shared/platform/names';
import { ITEM_ACTIONS } from '../stores/tables';
import { addFunction, type FunctionProps } from './pipeline-function';

/**
 * Puts old samples into the stream for `npm run ops -- import`. It runs outside the VPC, because Kinesis cannot be
 * reached from inside.
 */
export class Importer extends Construct {
  readonly function: lambda.Function;

  constructor(scope: Construct, id: string, props: FunctionProps) {
    super(scope, id);
    const { stream, tables } = props.stores;
    this.function = addFunction(this, {
      ...props,
      name: 'importer',
      description: 'Puts samples of any age into the stream',
      memoryMb: 1024,
      timeout: Duration.minutes(2),
      invokedBy: 'operator',
      environment: {
        [ENV.stream]: stream.stream.streamName,
        [ENV.metaTable]: tables.meta.tableName,
      },
    });
    stream.grantPut(this.function);
    tables.meta.grant(this.function, ...ITEM_ACTIONS.get, ...ITEM_ACTIONS.readMany);
    // The pool of each small source, an item of the kind `layouts`.
    tables.grantMeta(this.function, ['layouts'], ...ITEM_ACTIONS.count, ...ITEM_ACTIONS.insert);
    tables.grantMeta(this.function, ['imports'], ...ITEM_ACTIONS.put);
  }
}
