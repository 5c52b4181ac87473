import { Duration } from 'aws-cdk-lib';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { addFunction, type FunctionProps } from './pipeline-function';

/**
 * Requests the URLs of external monitors. It has no access to any store. The evaluator invokes it only if a
 * monitor is due.
 */
export class Prober extends Construct {
  readonly function: lambda.Function;

  constructor(scope: Construct, id: string, props: FunctionProps) {
    super(scope, id);
    this.function = addFunction(this, {
      ...props,
      name: 'prober',
      description: 'Requests the URLs of external monitors, without access to any store',
      memoryMb: 256,
      // A request times out after 15 s.
      timeout: Duration.seconds(20),
      invokedBy: 'evaluator',
    });
  }
}
