import { type CfnResource, Stack } from 'aws-cdk-lib';
import { Construct, type IConstruct } from 'constructs';

/**
 * Gives a resource a logical id that does not depend on its construct's path. Every store has one, so moving
 * a construct never makes CloudFormation replace a store and lose its data.
 *
 * @param construct an L1 construct, or an L2 construct whose default child is one
 */
export function pinLogicalId(construct: IConstruct, logicalId: string): void {
  ((construct.node.defaultChild ?? construct) as CfnResource).overrideLogicalId(logicalId);
}

/**
 * Returns a top-level scope of the stack, for resources without data whose names derive from their path.
 *
 * Schedules and the mapping were originally deployed below one scope per kind. CDK derives logical ids, and the rules'
 * physical names, from that path. Keeping the path prevents an upgrade from replacing these resources: a new mapping
 * would read the stream from its beginning.
 */
export function firstScope(construct: IConstruct, name: 'Schedules' | 'Ingest'): Construct {
  const stack = Stack.of(construct);
  return (stack.node.tryFindChild(name) as Construct | undefined) ?? new Construct(stack, name);
}
