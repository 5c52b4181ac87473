import { type CfnResource, Stack } from 'aws-cdk-lib';
import { Construct, type IConstruct } from 'constructs';

/**
 * Gives a resource a logical id that does not depend on its construct's path, so that moving the construct never makes
 * CloudFormation replace the resource and lose its data. Every store has one.
 *
 * @param construct an L1 construct, or an L2 construct whose default child is one
 */
export function pinLogicalId(construct: IConstruct, logicalId: string): void {
  ((construct.node.defaultChild ?? construct) as CfnResource).overrideLogicalId(logicalId);
}

/**
 * Returns the stack's scope of that name, for resources that hold no data and whose names follow from their path.
 *
 * Schedules and the mapping were first deployed below a scope for each kind. CDK derives logical ids, and the physical
 * names of rules, from that path. They keep it, so that an upgrade does not replace them: a new mapping would read the
 * stream from its beginning again.
 */
export function firstScope(construct: IConstruct, name: 'Schedules' | 'Ingest'): Construct {
  const stack = Stack.of(construct);
  return (stack.node.tryFindChild(name) as Construct | undefined) ?? new Construct(stack, name);
}
