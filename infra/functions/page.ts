import { Duration } from 'aws-cdk-lib';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { addFunction, type FunctionProps } from './pipeline-function';

/** Serves the page's static files. It has no access to any store. */
export class Page extends Construct {
  readonly function: lambda.Function;

  constructor(scope: Construct, id: string, props: FunctionProps) {
    super(scope, id);
    this.function = addFunction(this, {
      ...props,
      name: 'page',
      description: 'The page for browsers: static files, without access to any store',
      memoryMb: 512,
      timeout: Duration.seconds(5),
      invokedBy: 'api',
    });
  }
}
