import { CfnOutput, Fn, RemovalPolicies, Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { Bucket } from './bucket';
import type { Config } from './config';
import { HotTier } from './hot-tier';
import { Network } from './network';
import { SampleStream } from './stream';
import { Tables } from './tables';

export interface StatefulStackProps extends StackProps {
  readonly config: Config;
}

/**
 * Everything that holds data, and the network it is in. Logical ids are pinned: a refactoring replaces no
 * store.
 */
export class StatefulStack extends Stack {
  readonly network: Network;
  readonly hotTier: HotTier;
  readonly stream: SampleStream;
  readonly tables: Tables;
  readonly bucket: Bucket;
  private readonly zones: number;

  constructor(scope: Construct, id: string, props: StatefulStackProps) {
    super(scope, id, props);
    this.zones = props.config.settings.zones;
    const { stage, settings, retain } = props.config;
    // The local stage is run, never deployed, and has nothing to destroy.
    const isDisposable = !retain && stage !== 'local';

    this.network = new Network(this, 'Network', { settings });
    this.hotTier = new HotTier(this, 'HotTier', { stage, settings, network: this.network });
    this.stream = new SampleStream(this, 'SampleStream', { settings });
    this.tables = new Tables(this, 'Tables', { deletionProtection: retain });
    this.bucket = new Bucket(this, 'Storage', { emptyOnDestroy: isDisposable });

    // A first deployment that fails leaves nothing behind in either case.
    if (retain) RemovalPolicies.of(this).retainOnUpdateOrDelete();
    else RemovalPolicies.of(this).destroy();

    new CfnOutput(this, 'StreamName', { value: this.stream.stream.streamName });
    new CfnOutput(this, 'WarmTableName', { value: this.tables.warm.tableName });
    new CfnOutput(this, 'MetaTableName', { value: this.tables.meta.tableName });
    new CfnOutput(this, 'BucketName', { value: this.bucket.bucket.bucketName });
  }

  /** As many as were chosen, in whichever region: a stack that names none would have two, whatever the VPC asks for. */
  override get availabilityZones(): string[] {
    return Array.from({ length: this.zones }, (_, i) => Fn.select(i, Fn.getAzs()));
  }
}
