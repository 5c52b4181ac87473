import type * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { addIngestFunction } from './ingester';
import type { FunctionProps } from './pipeline-function';

/**
 * Reads the stream a second time, for a replay. It is the ingester's code under another name, because Lambda refuses a
 * second mapping of the same stream and function. Recovery makes and removes its mapping.
 */
export class Replayer extends Construct {
  readonly function: lambda.Function;

  constructor(scope: Construct, id: string, props: FunctionProps) {
    super(scope, id);
    this.function = addIngestFunction(this, props, 'replayer', 'Stream to hot tier once more, for a replay');
    props.stores.stream.grantConsume(this.function);
  }
}
