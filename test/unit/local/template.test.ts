import { Problem } from '../../../scripts/local/problem';
import { periodOf, physicalName, readTemplates, type Template } from '../../../scripts/local/template';

/** Two small stacks with one resource of each type, as `cdk synth` writes them. */
const stateful: Template = {
  Resources: {
    Stream: { Type: 'AWS::Kinesis::Stream', Properties: { ShardCount: 3, RetentionPeriodHours: 72 } },
    WarmTable: {
      Type: 'AWS::DynamoDB::Table',
      Properties: {
        KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
        AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
      },
    },
    Bucket: { Type: 'AWS::S3::Bucket' },
    Cache: { Type: 'AWS::ElastiCache::ReplicationGroup' },
  },
  Outputs: {
    StreamArn: { Value: { 'Fn::GetAtt': ['Stream', 'Arn'] }, Export: { Name: 'stateful:StreamArn' } },
    StreamRef: { Value: { Ref: 'Stream' }, Export: { Name: 'stateful:StreamRef' } },
    BucketArn: { Value: { 'Fn::GetAtt': ['Bucket', 'Arn'] }, Export: { Name: 'stateful:BucketArn' } },
    TableArn: { Value: { 'Fn::GetAtt': ['WarmTable', 'Arn'] }, Export: { Name: 'stateful:TableArn' } },
    Unexported: { Value: { Ref: 'Bucket' } },
  },
};

const functionResource = (properties: Record<string, unknown> = {}) => ({
  Type: 'AWS::Lambda::Function',
  Properties: { FunctionName: 'heterotsdb-local-ingester', Handler: 'index.handler', ...properties },
  Metadata: { 'aws:asset:path': 'asset.abc' },
});

const stateless: Template = {
  Resources: {
    Ingester: functionResource({
      Role: { 'Fn::GetAtt': ['Role', 'Arn'] },
      Timeout: 120,
      MemorySize: 1769,
      Environment: {
        Variables: { STREAM_NAME: { 'Fn::ImportValue': 'stateful:StreamRef' }, SETTINGS: '{"window":1}' },
      },
    }),
    Integration: {
      Type: 'AWS::ApiGatewayV2::Integration',
      Properties: { IntegrationUri: { 'Fn::GetAtt': ['Ingester', 'Arn'] }, PayloadFormatVersion: '2.0' },
    },
    Route: {
      Type: 'AWS::ApiGatewayV2::Route',
      Properties: {
        RouteKey: 'GET /a/{b}',
        Target: { 'Fn::Join': ['', ['integrations/', { Ref: 'Integration' }]] },
      },
    },
    Mapping: {
      Type: 'AWS::Lambda::EventSourceMapping',
      Properties: {
        FunctionName: { Ref: 'Ingester' },
        EventSourceArn: { 'Fn::ImportValue': 'stateful:StreamArn' },
        BatchSize: 500,
        MaximumBatchingWindowInSeconds: 1,
        StartingPosition: 'TRIM_HORIZON',
        BisectBatchOnFunctionError: true,
        FunctionResponseTypes: ['ReportBatchItemFailures'],
        MaximumRetryAttempts: -1,
        MaximumRecordAgeInSeconds: 255_600,
        DestinationConfig: { OnFailure: { Destination: { 'Fn::ImportValue': 'stateful:BucketArn' } } },
      },
    },
    Tick: {
      Type: 'AWS::Events::Rule',
      Properties: {
        ScheduleExpression: 'rate(1 minute)',
        State: 'ENABLED',
        Targets: [
          { Arn: { 'Fn::GetAtt': ['Ingester', 'Arn'] }, Id: 'Target0', Input: '{"lane":0,"lanes":2}' },
          { Arn: { 'Fn::GetAtt': ['Ingester', 'Arn'] }, Id: 'Target1' },
        ],
      },
    },
    Role: { Type: 'AWS::IAM::Role', Properties: { Anything: { 'Fn::Unheard': 'of' } } },
    Policy: {
      Type: 'AWS::IAM::Policy',
      Properties: {
        Roles: [{ Ref: 'Role' }],
        PolicyDocument: {
          Statement: [
            { Action: 'kinesis:PutRecords', Resource: '*' },
            {
              Action: ['dynamodb:GetItem', 'dynamodb:Query'],
              Resource: { 'Fn::ImportValue': 'stateful:TableArn' },
            },
            {
              Action: 'dynamodb:UpdateItem',
              Resource: { 'Fn::ImportValue': 'stateful:TableArn' },
              Condition: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['usage', 'usage#*'] } },
            },
          ],
        },
      },
    },
  },
};

/** Evaluates the environment variable `V` of a function that declares only that. */
const evaluate = (value: unknown) =>
  readTemplates(
    [
      stateful,
      {
        Resources: {
          ...stateful.Resources,
          F: functionResource({ Environment: { Variables: { V: value } } }),
        },
      },
    ],
    '/out',
  ).functions[0]!.environment.V;

describe('from two templates the local stack takes', () => {
  const stack = readTemplates([stateful, stateless], '/out');

  test('functions, with their environment resolved over stacks', () => {
    const table = 'arn:aws:dynamodb:us-east-1:000000000000:table/heterotsdb-local-warm-table';
    expect(stack.functions).toEqual([
      {
        logicalId: 'Ingester',
        name: 'heterotsdb-local-ingester',
        codeDir: '/out/asset.abc',
        handler: 'index.handler',
        environment: { STREAM_NAME: 'heterotsdb-local-stream', SETTINGS: '{"window":1}' },
        timeoutMs: 120_000,
        memoryMb: 1769,
        rights: [
          { actions: ['kinesis:PutRecords'], resources: ['*'] },
          { actions: ['dynamodb:GetItem', 'dynamodb:Query'], resources: [table] },
          { actions: ['dynamodb:UpdateItem'], resources: [table], keys: ['usage', 'usage#*'] },
        ],
      },
    ]);
  });

  test('routes, through their integrations', () => {
    expect(stack.routes).toEqual([{ routeKey: 'GET /a/{b}', functionName: 'heterotsdb-local-ingester' }]);
  });

  test('event source mappings, with everything that decides on redelivery', () => {
    expect(stack.mappings).toEqual([
      {
        functionName: 'heterotsdb-local-ingester',
        streamArn: 'arn:aws:kinesis:us-east-1:000000000000:stream/heterotsdb-local-stream',
        batchSize: 500,
        batchWindowMs: 1000,
        startingPosition: 'TRIM_HORIZON',
        bisectOnError: true,
        reportsItemFailures: true,
        maxRetries: -1,
        maxRecordAgeSeconds: 255_600,
        onFailure: 'arn:aws:s3:::heterotsdb-local-bucket',
      },
    ]);
  });

  test('schedules, one for each target', () => {
    expect(stack.schedules).toEqual([
      { functionName: 'heterotsdb-local-ingester', periodMs: 60_000, input: { lane: 0, lanes: 2 } },
      { functionName: 'heterotsdb-local-ingester', periodMs: 60_000, input: {} },
    ]);
  });

  test('stores', () => {
    expect(stack.streams).toEqual([{ logicalId: 'Stream', shards: 3, retentionHours: 72 }]);
    expect(stack.tables).toEqual([
      {
        logicalId: 'WarmTable',
        keySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
        attributes: [{ AttributeName: 'pk', AttributeType: 'S' }],
      },
    ]);
    expect(stack.buckets).toEqual([{ logicalId: 'Bucket' }]);
  });

  test('all of these, whichever stack comes first', () => {
    expect(readTemplates([stateless, stateful], '/out').functions).toEqual(stack.functions);
  });
});

test("a property that a template leaves out has AWS's default", () => {
  const { functions, mappings } = readTemplates(
    [
      {
        Resources: {
          F: functionResource(),
          M: {
            Type: 'AWS::Lambda::EventSourceMapping',
            Properties: { FunctionName: { Ref: 'F' }, EventSourceArn: 'arn' },
          },
        },
      },
    ],
    '/out',
  );
  expect(functions[0]).toMatchObject({ timeoutMs: 3000, memoryMb: 128, environment: {} });
  expect(mappings[0]).toMatchObject({
    batchSize: 100,
    batchWindowMs: 0,
    bisectOnError: false,
    reportsItemFailures: false,
    maxRetries: -1,
    maxRecordAgeSeconds: -1,
    onFailure: undefined,
  });
});

test('a rule that is disabled, or matches events, is no schedule', () => {
  const rule = (properties: Record<string, unknown>) => ({
    Type: 'AWS::Events::Rule',
    Properties: properties,
  });
  const { schedules } = readTemplates(
    [
      {
        Resources: {
          Off: rule({ ScheduleExpression: 'rate(1 hour)', State: 'DISABLED', Targets: [] }),
          Pattern: rule({ EventPattern: {}, State: 'ENABLED', Targets: [] }),
        },
      },
    ],
    '/out',
  );
  expect(schedules).toEqual([]);
});

describe('intrinsic functions', () => {
  test.each([
    {
      name: 'Ref of a store is its name',
      value: { Ref: 'WarmTable' },
      becomes: 'heterotsdb-local-warm-table',
    },
    { name: 'Ref of a pseudo parameter', value: { Ref: 'AWS::Region' }, becomes: 'us-east-1' },
    {
      name: 'Fn::GetAtt of an ARN',
      value: { 'Fn::GetAtt': ['WarmTable', 'Arn'] },
      becomes: 'arn:aws:dynamodb:us-east-1:000000000000:table/heterotsdb-local-warm-table',
    },
    { name: 'Fn::Join', value: { 'Fn::Join': ['-', ['a', { Ref: 'AWS::Partition' }]] }, becomes: 'a-aws' },
    {
      name: 'Fn::Select of Fn::Split',
      value: { 'Fn::Select': ['1', { 'Fn::Split': [',', 'a,b,c'] }] },
      becomes: 'b',
    },
    {
      name: 'Fn::Sub with resources, attributes and pseudo parameters',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: CloudFormation's own syntax
      value: { 'Fn::Sub': '${AWS::AccountId}/${Bucket}/${Bucket.Arn}' },
      becomes: '000000000000/heterotsdb-local-bucket/arn:aws:s3:::heterotsdb-local-bucket',
    },
    {
      name: 'Fn::Sub with variables of its own',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: CloudFormation's own syntax
      value: { 'Fn::Sub': ['${A}-${B}', { A: { Ref: 'Bucket' }, B: 'b' }] },
      becomes: 'heterotsdb-local-bucket-b',
    },
    {
      name: 'Fn::ImportValue of a joined name',
      value: { 'Fn::ImportValue': { 'Fn::Join': [':', ['stateful', 'StreamRef']] } },
      becomes: 'heterotsdb-local-stream',
    },
  ])('$name', ({ value, becomes }) => {
    expect(evaluate(value)).toBe(becomes);
  });

  test.each([
    {
      name: 'an unknown intrinsic function',
      value: { 'Fn::Cidr': ['10.0.0.0/16', 2] },
      says: /Fn::Cidr/,
    },
    { name: 'a missing resource', value: { Ref: 'Nobody' }, says: /Nobody/ },
    {
      name: 'an import that no stack exports',
      value: { 'Fn::ImportValue': 'stateful:Nothing' },
      says: /stateful:Nothing/,
    },
    {
      name: 'an import of an output that is not exported',
      value: { 'Fn::ImportValue': 'Unexported' },
      says: /Unexported/,
    },
  ])('$name is a sentence that names it', ({ value, says }) => {
    expect(() => evaluate(value)).toThrow(Problem);
    expect(() => evaluate(value)).toThrow(says);
  });
});

describe('a template that the local stack cannot run is refused in a sentence that names', () => {
  const read = (Resources: Template['Resources']) => () => readTemplates([{ Resources }], '/out');

  test.each([
    {
      name: 'a function without a bundle',
      run: read({ F: { ...functionResource(), Metadata: {} } }),
      says: /F has no bundle/,
    },
    {
      name: 'a route without an integration',
      run: read({
        R: { Type: 'AWS::ApiGatewayV2::Route', Properties: { RouteKey: 'GET /', Target: 'integrations/X' } },
      }),
      says: /R has no integration/,
    },
    {
      name: 'a schedule by cron',
      run: () => periodOf('cron(0 * * * ? *)', 'Nightly'),
      says: /Nightly.*cron/,
    },
  ])('$name', ({ run, says }) => {
    expect(run).toThrow(Problem);
    expect(run).toThrow(says);
  });
});

test.each([
  ['rate(1 minute)', 60_000],
  ['rate(5 minutes)', 300_000],
  ['rate(1 hour)', 3_600_000],
  ['rate(2 days)', 172_800_000],
])('%s is %d ms', (expression, ms) => {
  expect(periodOf(expression, 'Rule')).toBe(ms);
});

test.each([
  ['Stream', 'heterotsdb-local-stream'],
  ['MetaTable', 'heterotsdb-local-meta-table'],
  ['AccessLogs', 'heterotsdb-local-access-logs'],
])('%s is called %s', (logicalId, name) => {
  expect(physicalName(logicalId)).toBe(name);
});
