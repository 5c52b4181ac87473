import { Duration, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import { Grant, type IGrantable, type Role } from 'aws-cdk-lib/aws-iam';
import * as s3 from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { BUCKET_PREFIX } from '../shared/platform/names';
import { pinLogicalId } from './logical-id';

/**
 * Where Lambda puts batches whose records grew too old: it takes a bucket, not a prefix, and names the
 * objects `aws/lambda/<mapping id>/<shard id>/YYYY/MM/DD/<time>-<random>`.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/kinesis-on-failure-destination.html
 */
export const ON_FAILURE_PREFIX = 'aws/lambda/';

export interface BucketProps {
  /**
   * Whether `cdk destroy` empties the buckets, so that they can be deleted. It takes a function that may delete objects.
   * @default false
   */
  readonly emptyOnDestroy?: boolean;
}

/**
 * The bucket: archive, quarantine, and batches that the mapping gave up. Encrypted with S3's own keys, which
 * cost nothing, while a key of our own is a KMS call for every range read.
 *
 * Objects of the archive and given-up batches never expire by themselves: only quarantined bytes, access
 * logs, and versions that were replaced.
 */
export class Bucket extends Construct {
  readonly bucket: s3.Bucket;

  constructor(scope: Construct, id: string, props: BucketProps = {}) {
    super(scope, id);
    const isEmptied = props.emptyOnDestroy ?? false;
    const closed = {
      ...(isEmptied && { autoDeleteObjects: true, removalPolicy: RemovalPolicy.DESTROY }),
      blockPublicAccess: s3.BlockPublicAccess.BLOCK_ALL,
      objectOwnership: s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
      encryption: s3.BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      minimumTLSVersion: 1.2,
    };
    const accessLogs = new s3.Bucket(this, 'AccessLogs', {
      ...closed,
      lifecycleRules: [{ id: 'expire', expiration: Duration.days(90) }],
    });
    pinLogicalId(accessLogs, 'AccessLogs');
    pinLogicalId(accessLogs.policy!, 'AccessLogsPolicy');

    this.bucket = new s3.Bucket(this, 'Bucket', {
      ...closed,
      serverAccessLogsBucket: accessLogs,
      // An object replaced or deleted by mistake can be had back for a month.
      versioned: true,
      lifecycleRules: [
        { id: 'replaced-versions', noncurrentVersionExpiration: Duration.days(30) },
        { id: 'unfinished-uploads', abortIncompleteMultipartUploadAfter: Duration.days(7) },
        { id: 'quarantine', prefix: BUCKET_PREFIX.quarantine, expiration: Duration.days(90) },
      ],
    });
    pinLogicalId(this.bucket, 'Bucket');
    // A policy that is replaced is first made again and then deleted, which would leave the bucket without
    // one.
    pinLogicalId(this.bucket.policy!, 'BucketPolicy');
  }

  /** Lets a function read the archive, and tell an object that is not there from one it may not see. */
  grantReadArchive(grantee: IGrantable): void {
    this.grantObjects(grantee, 's3:GetObject', BUCKET_PREFIX.archive);
    this.grantList(grantee);
  }

  /** Lets a function write the archive's objects. */
  grantWriteArchive(grantee: IGrantable): void {
    this.grantObjects(grantee, 's3:PutObject', BUCKET_PREFIX.archive);
  }

  /** Lets a function remove objects of the archive for good: every version, since a version is what holds bytes. */
  grantEraseArchive(grantee: IGrantable): void {
    this.grantObjects(grantee, 's3:DeleteObjectVersion', BUCKET_PREFIX.archive);
    Grant.addToPrincipal({
      grantee,
      actions: ['s3:ListBucketVersions'],
      resourceArns: [this.bucket.bucketArn],
    });
  }

  /** Lets a function put away records that cannot be decoded. */
  grantQuarantine(grantee: IGrantable): void {
    this.grantObjects(grantee, 's3:PutObject', BUCKET_PREFIX.quarantine);
  }

  /** Lets an event source mapping put away batches it gave up. */
  grantOnFailure(grantee: IGrantable): void {
    this.grantObjects(grantee, 's3:PutObject', ON_FAILURE_PREFIX);
    this.grantList(grantee);
  }

  /** Lets a function look at what was put away, and remove it when it was driven again. */
  grantRedrive(grantee: IGrantable): void {
    for (const prefix of [BUCKET_PREFIX.quarantine, ON_FAILURE_PREFIX])
      for (const action of ['s3:GetObject', 's3:DeleteObject']) this.grantObjects(grantee, action, prefix);
    this.grantList(grantee);
  }

  private grantObjects(grantee: IGrantable, action: string, prefix: string): void {
    Grant.addToPrincipal({
      grantee,
      actions: [action],
      resourceArns: [this.bucket.arnForObjects(`${prefix}*`)],
    });
    Validations.of(grantee.grantPrincipal as Role).acknowledge({
      id: `AwsSolutions-IAM5[Resource::${this.exportedArn()}/${prefix}*]`,
      reason: `Objects below ${prefix} get their names at run time; only ${action}, and no other prefix, is allowed.`,
    });
  }

  private grantList(grantee: IGrantable): void {
    Grant.addToPrincipal({ grantee, actions: ['s3:ListBucket'], resourceArns: [this.bucket.bucketArn] });
  }

  /** The name under which the functions' stack imports the bucket's ARN, as it appears in findings. */
  private exportedArn(): string {
    const stack = Stack.of(this);
    return stack.resolve(stack.exportValue(this.bucket.bucketArn))['Fn::ImportValue'];
  }
}
