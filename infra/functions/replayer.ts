import type * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { ITEM_ACTIONS } from '../stores/tables';
import { addIngestFunction } from './ingester';
import type { FunctionProps } from './pipeline-function';

/**
 * Reads the stream again during a replay. It runs the ingester's code as another function, because Lambda
 * refuses a second mapping of one stream to one function. Recovery creates and removes the replayer's mapping.
 */
export class Replayer extends Construct {
  readonly function: lambda.Function;

  constructor(scope: Construct, id: string, props: FunctionProps) {
    super(scope, id);
    this.function = addIngestFunction(this, props, 'replayer', 'Stream to hot tier once more, for a replay');
    const { stream, tables } = props.stores;
    stream.grantConsume(this.function);
    // The replay's progress.
    tables.grantMeta(this.function, ['recovery'], ...ITEM_ACTIONS.count);
  }
}
