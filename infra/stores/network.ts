import * as ec2 from 'aws-cdk-lib/aws-ec2';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { VPC_RANGE } from '../../shared/platform/names';
import type { Settings } from '../../shared/platform/settings';
import { retentionDays } from '../log-retention';
import { pinLogicalId } from '../logical-id';

export interface NetworkProps {
  readonly settings: Settings;
}

/** Port of the hot tier. It differs from Redis' default port, which scanners try. */
export const HOT_TIER_PORT = 6380;

/**
 * A VPC without internet access: no NAT gateway, only the free gateway endpoints for DynamoDB and S3.
 * Functions inside it can call no other service.
 */
export class Network extends Construct {
  readonly vpc: ec2.Vpc;
  /** Security group of the functions inside the VPC. */
  readonly functionGroup: ec2.SecurityGroup;
  /** Security group of the hot tier. It admits only the functions' group. */
  readonly hotTierGroup: ec2.CfnSecurityGroup;

  constructor(scope: Construct, id: string, props: NetworkProps) {
    super(scope, id);
    this.vpc = new ec2.Vpc(this, 'Vpc', {
      ipAddresses: ec2.IpAddresses.cidr(VPC_RANGE),
      maxAzs: props.settings.zones,
      natGateways: 0,
      // The mask is fixed, because dividing the range evenly would move every subnet when a zone is added.
      subnetConfiguration: [{ name: 'Isolated', subnetType: ec2.SubnetType.PRIVATE_ISOLATED, cidrMask: 20 }],
      gatewayEndpoints: {
        DynamoDb: { service: ec2.GatewayVpcEndpointAwsService.DYNAMODB },
        S3: { service: ec2.GatewayVpcEndpointAwsService.S3 },
      },
      // To empty the default group, CDK would add a function that may edit security groups. Nothing here uses
      // that group.
      restrictDefaultSecurityGroup: false,
    });
    pinLogicalId(this.vpc, 'Vpc');
    this.vpc.isolatedSubnets.forEach((subnet, i) => {
      pinLogicalId(subnet, `Subnet${i + 1}`);
    });

    this.vpc.addFlowLog('Rejected', {
      trafficType: ec2.FlowLogTrafficType.REJECT,
      destination: ec2.FlowLogDestination.toCloudWatchLogs(
        new LogGroup(this, 'FlowLog', { retention: retentionDays(props.settings) }),
      ),
    });

    this.functionGroup = new ec2.SecurityGroup(this, 'FunctionGroup', {
      vpc: this.vpc,
      description: 'HeteroTSDB functions inside the VPC',
      allowAllOutbound: false,
    });
    pinLogicalId(this.functionGroup, 'FunctionGroup');
    this.functionGroup.addEgressRule(
      ec2.Peer.anyIpv4(),
      ec2.Port.tcp(443),
      'DynamoDB and S3 by gateway endpoint',
    );
    this.functionGroup.addEgressRule(ec2.Peer.ipv4(VPC_RANGE), ec2.Port.tcp(HOT_TIER_PORT), 'Hot tier');

    // Use an L1 construct, because L2 creates a separate resource for a rule whose peer is a group.
    this.hotTierGroup = new ec2.CfnSecurityGroup(this, 'HotTierGroup', {
      vpcId: this.vpc.vpcId,
      groupDescription: 'HeteroTSDB hot tier',
      securityGroupIngress: [
        {
          ipProtocol: 'tcp',
          fromPort: HOT_TIER_PORT,
          toPort: HOT_TIER_PORT,
          sourceSecurityGroupId: this.functionGroup.securityGroupId,
          description: 'Functions',
        },
      ],
      securityGroupEgress: [
        {
          ipProtocol: 'icmp',
          fromPort: 252,
          toPort: 86,
          cidrIp: '255.255.255.255/32',
          description: 'Nowhere: an empty list would allow everything',
        },
      ],
    });
    pinLogicalId(this.hotTierGroup, 'HotTierGroup');
  }
}
