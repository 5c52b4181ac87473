import { Duration, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import { Grant, type IGrantable, type Role } from 'aws-cdk-lib/aws-iam';
import * as s3 from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { BUCKET_PREFIX } from '../../shared/platform/names';
import { pinLogicalId } from '../logical-id';

export interface BucketProps {
  /**
   * Whether `cdk destroy` empties the buckets so that CloudFormation can delete them. CDK adds a function for
   * this that may delete objects.
   * @default false
   */
  readonly emptyOnDestroy?: boolean;
}

const ARCHIVE_PREFIXES = [BUCKET_PREFIX.archive, BUCKET_PREFIX.rollups];

/**
 * The bucket of the archive, the quarantine and the dead letters of the mapping. It is encrypted with S3's
 * own keys, which cost nothing; a key of our own would add a KMS call to every range read.
 *
 * Quarantined records, access logs and replaced versions expire. Archive objects and dead letters never do.
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
      // An object replaced or deleted by mistake can be restored for a month.
      versioned: true,
      lifecycleRules: [
        { id: 'replaced-versions', noncurrentVersionExpiration: Duration.days(30) },
        { id: 'unfinished-uploads', abortIncompleteMultipartUploadAfter: Duration.days(7) },
        { id: 'quarantine', prefix: BUCKET_PREFIX.quarantine, expiration: Duration.days(90) },
      ],
    });
    pinLogicalId(this.bucket, 'Bucket');
    // Pin the id. If it changed, CloudFormation would create the new policy and then delete the old one, which would
    // leave the bucket without a policy.
    pinLogicalId(this.bucket.policy!, 'BucketPolicy');
  }

  /**
   * Lets a function read the archive and its rollups. The right to list makes S3 answer 404 instead of 403
   * for a missing object.
   */
  grantReadArchive(grantee: IGrantable): void {
    for (const prefix of ARCHIVE_PREFIXES) this.grantObjects(grantee, 's3:GetObject', prefix);
    this.grantList(grantee);
  }

  /**
   * Lets a function write archive objects, and delete objects that it has replaced with objects under other keys. The
   * versions of deleted objects remain.
   */
  grantWriteArchive(grantee: IGrantable): void {
    for (const prefix of ARCHIVE_PREFIXES)
      for (const action of ['s3:PutObject', 's3:AbortMultipartUpload', 's3:DeleteObject'])
        this.grantObjects(grantee, action, prefix);
  }

  /** Lets a function delete archive objects permanently, with all their versions. */
  grantEraseArchive(grantee: IGrantable): void {
    for (const prefix of ARCHIVE_PREFIXES) this.grantObjects(grantee, 's3:DeleteObjectVersion', prefix);
    Grant.addToPrincipal({
      grantee,
      actions: ['s3:ListBucketVersions'],
      resourceArns: [this.bucket.bucketArn],
    });
  }

  /** Lets a function put records into quarantine. */
  grantQuarantine(grantee: IGrantable): void {
    this.grantObjects(grantee, 's3:PutObject', BUCKET_PREFIX.quarantine);
  }

  /** Lets a function's event source mapping write dead letters to the bucket. */
  grantOnFailure(grantee: IGrantable): void {
    this.grantObjects(grantee, 's3:PutObject', BUCKET_PREFIX.onFailure);
    this.grantList(grantee);
  }

  /** Lets a function list and read quarantined records and dead letters, and delete them after a redrive. */
  grantRedrive(grantee: IGrantable): void {
    for (const prefix of [BUCKET_PREFIX.quarantine, BUCKET_PREFIX.onFailure])
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
      reason: `Objects below ${prefix} get their names at run time; only ${action} below this prefix is allowed.`,
    });
  }

  private grantList(grantee: IGrantable): void {
    Grant.addToPrincipal({ grantee, actions: ['s3:ListBucket'], resourceArns: [this.bucket.bucketArn] });
  }

  /**
   * Returns the export name under which the stateless stack imports the bucket's ARN. cdk-nag's findings
   * contain it.
   */
  private exportedArn(): string {
    const stack = Stack.of(this);
    return stack.resolve(stack.exportValue(this.bucket.bucketArn))['Fn::ImportValue'];
  }
}
