import { DynamoDBClient, paginateScan } from '@aws-sdk/client-dynamodb';
import { paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { BUCKET_PREFIX } from '../../shared/platform/names';
import type { StackAddresses } from '../local/stack';

/** Lists objects and warm items of UTC days before a day, such as `2026-11-21`. */
export async function leftoversOf(
  { awsEndpoint, table, bucket }: StackAddresses,
  beforeDay: string,
): Promise<string[]> {
  const config = {
    endpoint: awsEndpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  };
  const s3 = new S3Client({ ...config, forcePathStyle: true, requestHandler: new NodeHttpHandler() });
  const dynamo = new DynamoDBClient({ ...config, requestHandler: new NodeHttpHandler() });
  const left: string[] = [];
  const isLeft = (key: string) => {
    const day = /\d{4}-\d\d-\d\d/.exec(key)?.[0];
    return day !== undefined && day < beforeDay;
  };
  try {
    for await (const { Contents = [] } of paginateListObjectsV2(
      { client: s3 },
      { Bucket: bucket, Prefix: BUCKET_PREFIX.archive },
    ))
      left.push(...Contents.map(({ Key }) => Key!).filter(isLeft));
    for await (const { Items = [] } of paginateScan(
      { client: dynamo },
      { TableName: table, ProjectionExpression: 'pk, sk' },
    ))
      left.push(...Items.map(({ pk, sk }) => `${pk!.S} ${sk!.S}`).filter(isLeft));
  } finally {
    s3.destroy();
    dynamo.destroy();
  }
  return left;
}
