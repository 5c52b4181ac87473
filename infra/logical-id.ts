import type { CfnResource } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/**
 * Gives a resource a logical id that does not depend on where its construct is, so that moving the construct
 * never makes CloudFormation replace the resource and lose what is in it.
 *
 * @param construct an L1 construct, or an L2 construct whose default child is one
 */
export function pinLogicalId(construct: IConstruct, logicalId: string): void {
  ((construct.node.defaultChild ?? construct) as CfnResource).overrideLogicalId(logicalId);
}
