import { CfnOutput, Fn, RemovalPolicies, Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { RELEASE } from '../shared/platform/names';
import type { Config } from './config';
import { Bucket } from './stores/bucket';
import { HotTier } from './stores/hot-tier';
import { Network } from './stores/network';
import { SampleStream } from './stores/stream';
import { Tables } from './stores/tables';

export interface StatefulStackProps extends StackProps {
  readonly config: Config;
}

export interface Stores {
  readonly network: Network;
  readonly hotTier: HotTier;
  readonly stream: SampleStream;
  readonly tables: Tables;
  readonly bucket: Bucket;
}

/**
 * The network and everything that holds data. Logical ids are pinned, so that refactoring never replaces a
 * store.
 */
export class StatefulStack extends Stack implements Stores {
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
    // Not for the local stage: it is never deployed, so nothing needs emptying.
    const isDisposable = !retain && stage !== 'local';

    this.network = new Network(this, 'Network', { settings });
    this.hotTier = new HotTier(this, 'HotTier', { stage, settings, network: this.network });
    this.stream = new SampleStream(this, 'SampleStream', { settings });
    this.tables = new Tables(this, 'Tables', { deletionProtection: retain });
    this.bucket = new Bucket(this, 'Storage', { emptyOnDestroy: isDisposable });

    // If a stack's first deployment fails, both removal policies still delete its resources.
    if (retain) RemovalPolicies.of(this).retainOnUpdateOrDelete();
    else RemovalPolicies.of(this).destroy();

    new CfnOutput(this, 'Release', { value: RELEASE });
    new CfnOutput(this, 'StreamName', { value: this.stream.stream.streamName });
    new CfnOutput(this, 'WarmTableName', { value: this.tables.warm.tableName });
    new CfnOutput(this, 'MetaTableName', { value: this.tables.meta.tableName });
    new CfnOutput(this, 'BucketName', { value: this.bucket.bucket.bucketName });
  }

  /**
   * Returns the number of zones that the setting `zones` specifies, in any region. Without this override, a stack
   * without a region has two zones.
   */
  override get availabilityZones(): string[] {
    return Array.from({ length: this.zones }, (_, i) => Fn.select(i, Fn.getAzs()));
  }
}
