import type { WholeRequest } from '../local/forward';
import type { Call } from './call';

/** Path prefix of Lambda's API, which is answered by another server than the other services. */
export const LAMBDA_PATH = '/2015-03-31/';

const DYNAMODB_CHANGES = /^(Put|Update|Delete|BatchWrite|TransactWrite)/;

/** Returns the operation and object of a request. */
export function awsCall(functionName: string, request: WholeRequest): Call {
  const target = String(request.headers['x-amz-target'] ?? '');
  const operation = target.slice(target.indexOf('.') + 1);
  if (target.startsWith('DynamoDB_'))
    return {
      functionName,
      store: 'dynamodb',
      operation: `${operation} ${dynamodbSubject(jsonOf(request.body))}`,
      isChange: DYNAMODB_CHANGES.test(operation),
    };
  if (target.startsWith('Kinesis_'))
    return { functionName, store: 'kinesis', operation, isChange: operation.startsWith('Put') };
  if (request.path.startsWith(LAMBDA_PATH)) {
    const collection = request.path.slice(LAMBDA_PATH.length).split(/[/?]/)[0]!;
    return {
      functionName,
      store: 'lambda',
      operation: `${request.method} ${collection}`,
      isChange: request.method !== 'GET',
    };
  }
  // The path is `/bucket/first-part-of-the-key/...`. Take only the first part of the key, which the code chooses.
  const prefix = decodeURIComponent(request.path.split('?')[0]!).split('/')[2] ?? '';
  return {
    functionName,
    store: 's3',
    operation: `${request.method} ${prefix}`.trim(),
    isChange: request.method !== 'GET' && request.method !== 'HEAD',
  };
}

type Attribute = { readonly S?: string };
interface DynamodbInput {
  readonly TableName?: string;
  readonly Item?: Readonly<Record<string, Attribute>>;
  readonly Key?: Readonly<Record<string, Attribute>>;
  readonly UpdateExpression?: string;
}

/** Returns `warm`, or the kind of item in the meta table with the first words of the update. */
function dynamodbSubject({ TableName, Item, Key, UpdateExpression }: DynamodbInput): string {
  if (/warm/i.test(TableName ?? '')) return 'warm';
  const key = Item ?? Key;
  const [kind, second] = (key?.pk?.S ?? '').split('#');
  // Recovery's items share one partition key, or have a key like `recovery#partitions`.
  const detail = kind === 'recovery' ? (second ?? key?.sk?.S?.split('#')[0]) : undefined;
  const update = UpdateExpression?.split(' ').slice(0, 2).join(' ');
  return [kind, detail, update].filter((word) => word !== undefined && word !== '').join(' ');
}

function jsonOf(body: Buffer): DynamodbInput & Record<string, unknown> {
  return body.length === 0 ? {} : JSON.parse(body.toString('utf8'));
}
