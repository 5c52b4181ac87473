import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from '../../infra/config';
import { recordAgeMs } from '../../infra/record-age';
import { sendsTraces } from '../../infra/tracing';
import { FALLBACK_FUNCTION, ROUTES } from '../../shared/http/routes';
import { MAX_CALL_MS } from '../../shared/platform/call-time';
import { ENV, FUNCTIONS, type FunctionName, functionName } from '../../shared/platform/names';
import { parseSettings, runtimeSettings } from '../../shared/platform/settings';
import { manualRows } from './manual';
import { type Resource, type Synthesized, synthesize } from './synthesize';

const { stateless: local } = synthesize({ stage: 'local' });
const { stateless: production, stateful } = synthesize({ stage: 'production' });

type Properties = Resource['Properties'];

function functionEntry(
  stack: Synthesized,
  stage: string,
  name: FunctionName,
): [logicalId: string, Properties] {
  const entry = Object.entries(stack.all('AWS::Lambda::Function')).find(
    ([, { Properties }]) => Properties.FunctionName === functionName(stage, name),
  );
  return [entry![0], entry![1].Properties];
}

const fn = (name: FunctionName) => functionEntry(production, 'production', name)[1];

/** A role's rights, as `action on resource`: a store's logical id and prefix or kinds of items, its log, or `*`. */
function allowed(name: FunctionName): string[] {
  const roleId = fn(name).Role['Fn::GetAtt'][0];
  const documents = [
    ...production.all('AWS::IAM::Role')[roleId]!.Properties.Policies.map((p: Properties) => p.PolicyDocument),
    ...production
      .properties('AWS::IAM::Policy')
      .filter((policy) => policy.Roles.some((role: Properties) => role.Ref === roleId))
      .map((policy) => policy.PolicyDocument),
  ];
  return documents
    .flatMap((document) => document.Statement as Properties[])
    .flatMap(({ Action, Resource, Condition }) =>
      [Action]
        .flat()
        .flatMap((action: string) =>
          [Resource].flat().map((r: unknown) => `${action} on ${storeName(r)}${kindsOf(Condition)}`),
        ),
    )
    .sort();
}

/** The kinds of items to which a statement is bound, such as ` minute usage`. */
function kindsOf(condition: Properties | undefined): string {
  const keys: string[] = condition?.['ForAllValues:StringLike']?.['dynamodb:LeadingKeys'] ?? [];
  const kinds = keys.filter((key) => !key.endsWith('#*'));
  expect(keys).toEqual(kinds.flatMap((kind) => [kind, `${kind}#*`]));
  return kinds.map((kind) => ` ${kind}`).join('');
}

/**
 * Shortens an ARN of a template: an imported store becomes its logical id, the function's own log group becomes `Log`.
 */
function storeName(resource: unknown): string {
  const text = JSON.stringify(resource);
  if (text === '"*"') return '*';
  if (/Log[0-9A-F]{8}/.test(text)) return 'Log';
  if (text.includes(':user:')) return 'HotTierUser';
  if (text.includes('ReplayerFunction')) return 'Replayer';
  if (text.includes('FunctionsQueryFunction')) return 'Query';
  if (text.includes('FunctionsProberFunction')) return 'Prober';
  const [, store] = /Exports?Output(?:FnGetAtt|Ref)(Stream|WarmTable|MetaTable|Bucket|ReplicationGroup)/.exec(
    text,
  )!;
  const [, path = ''] = /"(\/[^"]*)"/.exec(text) ?? [];
  return `${store}${path}`;
}

describe('functions', () => {
  test('are named by the names that operator commands use', () => {
    const names = production.properties('AWS::Lambda::Function').map((each) => each.FunctionName);
    expect(names.sort()).toEqual(FUNCTIONS.map((name) => functionName('production', name)).sort());
  });

  test.each(FUNCTIONS)('%s runs Node 24 on Arm, with JSON logs that expire', (name) => {
    expect(fn(name)).toMatchObject({
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      Handler: 'index.handler',
      LoggingConfig: { LogFormat: 'JSON' },
    });
    const logGroup = production.all('AWS::Logs::LogGroup')[fn(name).LoggingConfig.LogGroup.Ref]!;
    expect(logGroup.Properties.RetentionInDays).toBe(90);
  });

  test.each(FUNCTIONS)(
    '%s sends traces under tracing=all, under none not, and by default unless it runs often',
    (name) => {
      const isOften = name === 'post' || name === 'ingester';
      expect((['all', 'rare', 'none'] as const).map((tracing) => sendsTraces(name, tracing))).toEqual([
        true,
        !isOften,
        false,
      ]);
      expect(fn(name).TracingConfig).toEqual(isOften ? undefined : { Mode: 'Active' });
    },
  );

  test('have a role each', () => {
    expect(new Set(FUNCTIONS.map((name) => JSON.stringify(fn(name).Role))).size).toBe(FUNCTIONS.length);
  });

  test.each<[FunctionName, string[]]>([
    ['post', ['STREAM_NAME', 'META_TABLE', 'NODE_OPTIONS']],
    ['ingester', ['META_TABLE', 'BUCKET', 'REDIS_URL']],
    ['flusher', ['WARM_TABLE', 'META_TABLE', 'REDIS_URL']],
    ['archiver', ['WARM_TABLE', 'META_TABLE', 'BUCKET']],
    ['query', ['WARM_TABLE', 'META_TABLE', 'BUCKET', 'REDIS_URL', 'NODE_OPTIONS']],
    ['registry', ['STREAM_NAME', 'META_TABLE']],
    ['page', []],
    ['operator', ['WARM_TABLE', 'META_TABLE', 'BUCKET', 'REDIS_URL']],
    ['deleter', ['STREAM_NAME', 'META_TABLE']],
    ['importer', ['STREAM_NAME', 'META_TABLE']],
    ['replayer', ['META_TABLE', 'BUCKET', 'REDIS_URL']],
    ['recovery', ['META_TABLE', 'BUCKET', 'STREAM_ARN', 'REPLAYER']],
    ['evaluator', ['STREAM_NAME', 'META_TABLE', 'QUERY', 'PROBER', 'API_URL']],
    ['prober', []],
    ['canary', ['META_TABLE', 'API_URL']],
  ])('%s has %j in its environment, and the settings', (name, variables) => {
    expect(Object.keys(fn(name).Environment.Variables).sort()).toEqual(['SETTINGS', ...variables].sort());
  });

  test('read the settings that were chosen, in ms', () => {
    const { stateless } = synthesize({ stage: 'local', window: '20s', flushDelay: '1s' });
    const [, post] = functionEntry(stateless, 'local', 'post');
    const settings = JSON.parse(post.Environment.Variables.SETTINGS);
    expect(settings).toMatchObject({ window: 20_000, flushDelay: 1000, resolution: 10_000 });
    expect(settings).toEqual(
      runtimeSettings(readConfig({ stage: 'local', window: '20s', flushDelay: '1s' }).settings),
    );
  });

  test('get no settings that only synthesis needs, so that changing one changes no function', () => {
    const { stateless } = synthesize({
      stage: 'production',
      alarmEmail: 'ops@example.com',
      monthlyBudget: '5',
    });
    expect(functionEntry(stateless, 'production', 'post')[1].Environment).toEqual(fn('post').Environment);
  });

  test('that could flood a store have reserved concurrency in production, and no other has', () => {
    const reserved = FUNCTIONS.map((name) => [name, fn(name).ReservedConcurrentExecutions] as const);
    expect(Object.fromEntries(reserved.filter(([, count]) => count !== undefined))).toEqual({
      query: 100,
      flusher: 16,
    });
  });

  test('reserve no concurrency in dev, which fits into an account with a quota of 10', () => {
    const { stateless } = synthesize({ stage: 'dev', accountConcurrency: '10', monitoring: 'full' });
    for (const fn of stateless.properties('AWS::Lambda::Function'))
      expect(fn.ReservedConcurrentExecutions).toBeUndefined();
    expect(
      stateless
        .properties('AWS::CloudWatch::Alarm')
        .find(({ AlarmName }) => AlarmName === 'heterotsdb-dev-concurrency')!.Threshold,
    ).toBe(8);
  });

  test('reach the hot tier over TLS, in cluster mode, signed by IAM', () => {
    const [first, endpoint, middle, replicationGroup] =
      fn('query').Environment.Variables.REDIS_URL['Fn::Join'][1];
    expect(first).toBe('rediss://heterotsdb-production@');
    expect(JSON.stringify(endpoint)).toContain('ReplicationGroupConfigurationEndPointAddress');
    expect(middle).toBe(':6380?cluster=true&iam=');
    expect(JSON.stringify(replicationGroup)).toContain('RefReplicationGroup');
  });

  test('are inside the VPC when they reach the hot tier, and outside otherwise', () => {
    const inside = FUNCTIONS.filter((name) => fn(name).VpcConfig !== undefined);
    expect(inside).toEqual(['ingester', 'flusher', 'query', 'operator', 'replayer']);
    for (const name of inside) {
      expect(fn(name).VpcConfig.SubnetIds).toHaveLength(2);
      expect(JSON.stringify(fn(name).VpcConfig.SecurityGroupIds)).toContain('FunctionGroup');
    }
  });

  test('give up before API Gateway does', () => {
    for (const { function: name } of ROUTES) expect(fn(name).Timeout).toBeLessThan(30);
  });

  test.each(FUNCTIONS.filter((name) => fn(name).Environment.Variables[ENV.redis] !== undefined))(
    "%s's timeout leaves room for two calls that the hot tier does not answer, and for saying so",
    (name) => expect(fn(name).Timeout * 1000).toBeGreaterThan(2 * MAX_CALL_MS),
  );

  test('that a schedule invokes are not retried', () => {
    const configs = production.properties('AWS::Lambda::EventInvokeConfig');
    expect(configs).toHaveLength(6);
    for (const config of configs) expect(config.MaximumRetryAttempts).toBe(0);
  });
});

/** Calls whose right has a different name. */
const RIGHTS_OF: Readonly<Record<string, readonly string[]>> = {
  ListObjectVersions: ['ListBucketVersions'],
  ListObjectsV2: ['ListBucket'],
  // A call that names a version needs the second right, too.
  DeleteObject: ['DeleteObject', 'DeleteObjectVersion'],
  Invoke: ['InvokeFunction'],
  // Allowed only for topics that a setting names.
  Publish: [],
  HeadObject: ['GetObject'],
  CreateMultipartUpload: ['PutObject'],
  UploadPart: ['PutObject'],
  CompleteMultipartUpload: ['PutObject'],
  // This project's PartiQL statements only insert.
  BatchExecuteStatement: ['PartiQLInsert'],
  TransactWriteItems: ['PutItem', 'DeleteItem'],
};

describe('rights', () => {
  const read = ['GetItem', 'Query'];
  const write = ['PutItem', 'UpdateItem'];
  const items = (table: string, ...actions: string[]) =>
    actions.map((action) => `dynamodb:${action} on ${table}`);
  /** Actions on items of some kinds. */
  const kinds = (names: string, ...actions: string[]) => items(`MetaTable ${names}`, ...actions);
  const catalogue = 'changes index layouts sources';
  const hot = ['elasticache:Connect on HotTierUser', 'elasticache:Connect on ReplicationGroup'];
  const readArchive = [
    's3:GetObject on Bucket/archive/*',
    's3:GetObject on Bucket/rollups/*',
    's3:ListBucket on Bucket',
  ];
  const log = ['logs:CreateLogStream on Log', 'logs:PutLogEvents on Log'];
  const trace = ['xray:PutTelemetryRecords on *', 'xray:PutTraceSegments on *'];
  const inVpc = [
    'AssignPrivateIpAddresses',
    'CreateNetworkInterface',
    'DeleteNetworkInterface',
    'DescribeNetworkInterfaces',
    'DescribeSubnets',
    'UnassignPrivateIpAddresses',
  ].map((action) => `ec2:${action} on *`);

  // An event source mapping uses its function's role, both to read the stream and to send records that it
  // gives up on to the failure destination.
  const consume = [
    'DescribeStream',
    'DescribeStreamSummary',
    'GetRecords',
    'GetShardIterator',
    'ListShards',
  ].map((action) => `kinesis:${action} on Stream`);

  test.each<[FunctionName, string[]]>([
    [
      'post',
      [
        'kinesis:PutRecords on Stream',
        ...items('MetaTable', ...read, 'BatchGetItem'),
        ...kinds('minute usage', 'UpdateItem'),
        ...kinds('layouts', 'UpdateItem', 'PartiQLInsert'),
        ...kinds('metric-metadata', 'PutItem'),
      ],
    ],
    ['deleter', ['kinesis:PutRecords on Stream', ...items('MetaTable', ...read)]],
    [
      'importer',
      [
        'kinesis:PutRecords on Stream',
        ...items('MetaTable', 'GetItem', 'BatchGetItem'),
        ...kinds('layouts', 'UpdateItem', 'PartiQLInsert'),
        ...kinds('imports', 'PutItem'),
      ],
    ],
    [
      'ingester',
      [
        ...hot,
        ...inVpc,
        ...items('MetaTable', ...read, 'BatchGetItem'),
        ...kinds(catalogue, ...write, 'PartiQLInsert'),
        ...kinds('manifest usage', ...write),
        ...kinds('recovery', 'PutItem'),
        's3:PutObject on Bucket/quarantine/*',
        ...consume,
        's3:ListBucket on Bucket',
        's3:PutObject on Bucket/aws/lambda/*',
      ],
    ],
    [
      'flusher',
      [
        ...hot,
        ...inVpc,
        ...items('WarmTable', ...read, ...write),
        ...items('MetaTable', ...read, 'BatchGetItem'),
        ...kinds(`${catalogue} manifest usage`, ...write),
        ...kinds('recovery', 'PutItem'),
      ],
    ],
    [
      'archiver',
      [
        ...items('WarmTable', ...read, 'DeleteItem'),
        ...items('MetaTable', ...read),
        ...kinds('archiving directory manifest rolled rollups', ...write, 'DeleteItem'),
        ...readArchive,
        's3:AbortMultipartUpload on Bucket/archive/*',
        's3:AbortMultipartUpload on Bucket/rollups/*',
        's3:DeleteObject on Bucket/archive/*',
        's3:DeleteObject on Bucket/rollups/*',
        's3:PutObject on Bucket/archive/*',
        's3:PutObject on Bucket/rollups/*',
      ],
    ],
    [
      'query',
      [
        ...hot,
        ...inVpc,
        ...items('WarmTable', ...read, 'BatchGetItem'),
        ...items('MetaTable', ...read, 'BatchGetItem'),
        ...kinds('minute usage', 'UpdateItem'),
        ...readArchive,
      ],
    ],
    [
      'registry',
      [
        'kinesis:PutRecords on Stream',
        ...items('MetaTable', ...read),
        ...kinds(
          'alert-group-settings alert-logs alerts channels checks custom-identifiers dashboards downtimes graph-annotations graph-definitions group-index hosts metadata monitor-states monitors notification-groups open-alerts receivers retired-hosts rule-groups services silences',
          'PutItem',
          'DeleteItem',
        ),
        ...kinds('outbox', 'PutItem'),
        ...kinds('minute usage', ...write),
      ],
    ],
    [
      'operator',
      [
        ...hot,
        ...inVpc,
        ...items('WarmTable', ...read, 'BatchGetItem', 'DeleteItem'),
        ...items('MetaTable', ...read, ...write, 'PartiQLInsert', 'DeleteItem', 'Scan'),
        ...readArchive,
        's3:DeleteObjectVersion on Bucket/archive/*',
        's3:DeleteObjectVersion on Bucket/rollups/*',
        's3:ListBucketVersions on Bucket',
      ],
    ],
    [
      'replayer',
      [
        ...hot,
        ...inVpc,
        ...items('MetaTable', ...read, 'BatchGetItem'),
        ...kinds(catalogue, ...write, 'PartiQLInsert'),
        ...kinds('manifest usage', ...write),
        ...kinds('recovery', ...write),
        's3:PutObject on Bucket/quarantine/*',
        ...consume,
      ],
    ],
    [
      'evaluator',
      [
        'kinesis:PutRecords on Stream',
        ...items('MetaTable', ...read, 'BatchGetItem'),
        ...kinds(
          'evaluator group-index outbox rule-states undelivered monitor-states alerts open-alerts alert-logs channels',
          'PutItem',
          'DeleteItem',
        ),
        ...kinds('minute usage', 'UpdateItem'),
        ...kinds('layouts', 'UpdateItem', 'PartiQLInsert'),
        'lambda:InvokeFunction on Prober',
        'lambda:InvokeFunction on Query',
      ],
    ],
    ['prober', []],
    [
      'canary',
      [
        ...items('MetaTable', ...read),
        ...kinds('key keys', 'PutItem', 'DeleteItem'),
        ...kinds('tenants', 'PutItem'),
      ],
    ],
    [
      'recovery',
      [
        ...items('MetaTable', ...read),
        ...kinds('recovery', 'PutItem', 'DeleteItem'),
        'kinesis:ListShards on Stream',
        'kinesis:PutRecords on Stream',
        'lambda:CreateEventSourceMapping on *',
        'lambda:InvokeFunction on Replayer',
        's3:DeleteObject on Bucket/aws/lambda/*',
        's3:DeleteObject on Bucket/quarantine/*',
        's3:GetObject on Bucket/aws/lambda/*',
        's3:GetObject on Bucket/quarantine/*',
        's3:ListBucket on Bucket',
        'lambda:DeleteEventSourceMapping on *',
        'lambda:ListEventSourceMappings on *',
      ],
    ],
  ])('of %s are exactly what its work needs', (name, rights) => {
    const isTraced = fn(name).TracingConfig !== undefined;
    expect(allowed(name)).toEqual([...log, ...(isTraced ? trace : []), ...rights].sort());
  });

  test("are for the calls that the code makes, and each of those is somebody's right", () => {
    const sources = ['shared', 'functions'].flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts'))
        .map((file) => readFileSync(join(folder, file), 'utf8')),
    );
    const calls = sources
      .flatMap((source) => [...source.matchAll(/\bnew ([A-Z]\w+)Command\(|\bpaginate([A-Z]\w+)\(/g)])
      .map(([, command, paginated]) => command ?? paginated)
      .flatMap((call) => RIGHTS_OF[call!] ?? call);
    const rights = FUNCTIONS.flatMap(allowed)
      .filter((right) =>
        /^(dynamodb:|lambda:|s3:(Abort|Get|Put|Delete|List)|kinesis:(Put|ListShards))/.test(right),
      )
      .map((right) => /:(\w+)/.exec(right)![1]);
    expect([...new Set(rights)].sort()).toEqual([...new Set(calls)].sort());
  });

  test('to publish to topics of SNS are for the evaluator, and the topics that settings name', () => {
    const topics = ['arn:aws:sns:eu-west-1:123456789012:alerts', 'arn:aws:sns:eu-west-1:123456789012:mails'];
    const [alertTopics, mailTopic] = topics as [string, string];
    const { stateless } = synthesize({ stage: 'local', alertTopics, mailTopic });
    const statements = stateless
      .properties('AWS::IAM::Policy')
      .flatMap((policy) => policy.PolicyDocument.Statement)
      .filter(({ Action }) => Action === 'sns:Publish');
    expect(statements).toEqual([{ Action: 'sns:Publish', Effect: 'Allow', Resource: topics }]);
    expect(() => synthesize({ stage: 'local', alertTopics: '*' })).toThrow(
      'alertTopics: "*" is not the ARN of an SNS topic',
    );
    expect(() => synthesize({ stage: 'local', mailTopic: 'mails' })).toThrow(
      'mailTopic: "mails" is not the ARN of an SNS topic',
    );
  });

  test("to make and remove event source mappings are for the replayer's only", () => {
    const statements = production
      .properties('AWS::IAM::Policy')
      .flatMap((policy) => policy.PolicyDocument.Statement)
      .filter(({ Action }) => JSON.stringify(Action).includes('teEventSourceMapping'));
    expect(statements).toHaveLength(1);
    expect(JSON.stringify(statements[0].Condition)).toContain('Replayer');
  });

  test('name every action', () => {
    for (const stack of [production, stateful]) {
      const policies = [
        ...stack.properties('AWS::IAM::Policy').map((policy) => policy.PolicyDocument),
        ...stack
          .properties('AWS::IAM::Role')
          .flatMap((role) => role.Policies ?? [])
          .map((p) => p.PolicyDocument),
      ];
      const actions = policies
        .flatMap((document) => document.Statement)
        .flatMap((statement) => statement.Action);
      expect(actions.filter((action: string) => action.includes('*'))).toEqual([]);
    }
  });

  test('come from no managed policy', () => {
    for (const role of production.properties('AWS::IAM::Role'))
      expect(role.ManagedPolicyArns).toBeUndefined();
  });
});

describe('mapping', () => {
  const mapping = production.only('AWS::Lambda::EventSourceMapping');

  test('feeds the ingester from the oldest record on, and reports each failed record', () => {
    const [ingesterId] = functionEntry(production, 'production', 'ingester');
    expect(mapping).toMatchObject({
      FunctionName: { Ref: ingesterId },
      StartingPosition: 'TRIM_HORIZON',
      BatchSize: 500,
      MaximumBatchingWindowInSeconds: 1,
      ParallelizationFactor: 1,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      BisectBatchOnFunctionError: true,
    });
    expect(JSON.stringify(mapping.EventSourceArn)).toContain('StreamArn');
  });

  test('never runs out of attempts, and puts batches it gives up into the bucket, bytes included', () => {
    expect(mapping.MaximumRetryAttempts).toBe(-1);
    expect(JSON.stringify(mapping.DestinationConfig.OnFailure.Destination)).toContain('BucketArn');
  });

  // The stream keeps a record for an hour longer than the record's maximum age, for the redrive, and for the time that
  // its samples spend in memory: the window and flushDelay.
  test.each([
    { streamRetention: '24h', ageSeconds: (23 - 1) * 3600 - 1860 },
    { streamRetention: '72h', ageSeconds: (71 - 1) * 3600 - 1860 },
    { streamRetention: '168h', ageSeconds: (167 - 1) * 3600 - 1860 },
    { streamRetention: '72h', window: '4h', flushDelay: '2h', ageSeconds: (71 - 6) * 3600 },
    { streamRetention: '72h', recordAge: '20h', ageSeconds: 20 * 3600 },
    { streamRetention: '30d', ageSeconds: 7 * 24 * 3600 },
  ])(
    'tries a record for $ageSeconds s when the stream remembers $streamRetention',
    ({ ageSeconds, ...settings }) => {
      expect(recordAgeMs(parseSettings(settings))).toBe(ageSeconds * 1000);
    },
  );

  test('tries a record that long', () => {
    const { settings } = readConfig({ stage: 'production' });
    expect(mapping.MaximumRecordAgeInSeconds).toBe(recordAgeMs(settings) / 1000);
    expect(stateful.only('AWS::Kinesis::Stream').RetentionPeriodHours * 3_600_000).toBe(
      settings.streamRetention,
    );
  });

  test('gathers no batch locally', () => {
    expect(local.only('AWS::Lambda::EventSourceMapping').MaximumBatchingWindowInSeconds).toBe(0);
  });
});

describe('schedules', () => {
  const targets = (stack: Synthesized) =>
    stack.properties('AWS::Events::Rule').map(({ ScheduleExpression, Targets }) => ({
      schedule: ScheduleExpression,
      function: Targets[0].Arn['Fn::GetAtt'][0].replace(/^Functions|Function[0-9A-F]{8}$/g, ''),
      input: JSON.parse(Targets[0].Input),
    }));

  test('start lanes, recovery, evaluator and canary each minute, redrives each quarter, archiver and sweep each hour', () => {
    expect(targets(synthesize({ flusherLanes: '3' }).stateless)).toEqual([
      { schedule: 'rate(1 minute)', function: 'Flusher', input: { lane: 0, lanes: 3 } },
      { schedule: 'rate(1 minute)', function: 'Flusher', input: { lane: 1, lanes: 3 } },
      { schedule: 'rate(1 minute)', function: 'Flusher', input: { lane: 2, lanes: 3 } },
      { schedule: 'rate(1 minute)', function: 'Recovery', input: {} },
      {
        schedule: 'rate(15 minutes)',
        function: 'Recovery',
        input: { action: 'redrive', kind: 'onFailure' },
      },
      { schedule: 'rate(1 hour)', function: 'Archiver', input: {} },
      { schedule: 'rate(1 hour)', function: 'Operator', input: { command: 'sweep' } },
      { schedule: 'rate(1 minute)', function: 'Evaluator', input: {} },
      { schedule: 'rate(1 minute)', function: 'Canary', input: {} },
    ]);
  });
});

describe('API', () => {
  /** The template's routes as `routeKey function`. */
  const routes = production.properties('AWS::ApiGatewayV2::Route').map(({ RouteKey, Target }) => {
    const integration = production.all('AWS::ApiGatewayV2::Integration')[Target['Fn::Join'][1][1].Ref]!
      .Properties;
    expect(integration).toMatchObject({ IntegrationType: 'AWS_PROXY', PayloadFormatVersion: '2.0' });
    const functionId = integration.IntegrationUri['Fn::GetAtt'][0];
    return `${RouteKey} ${production.all('AWS::Lambda::Function')[functionId]!.Properties.FunctionName}`;
  });

  test('has the routes of the table, HEAD wherever GET is, and one for everything else', () => {
    const expected = [
      ...ROUTES.flatMap((route) =>
        (route.method === 'GET' ? ['GET', 'HEAD'] : [route.method]).map(
          (method) => `${method} ${route.path} ${functionName('production', route.function)}`,
        ),
      ),
      `$default ${functionName('production', FALLBACK_FUNCTION)}`,
    ];
    expect(routes.sort()).toEqual(expected.sort());
  });

  test('keeps the logical ids of its integrations, whatever the order of the table', () => {
    expect(Object.keys(production.all('AWS::ApiGatewayV2::Integration')).sort()).toEqual([
      'ApiHttpApiDefaultRouteregistry0FD5D04F',
      'ApiHttpApiGETapiv1seriesquery58B2CABD',
      'ApiHttpApiGETpageFDD553F1',
      'ApiHttpApiPOSTapiv0tsdbpost69F1B9D9',
    ]);
  });

  test('may invoke the function of every route, the default route included', () => {
    const permitted = production
      .properties('AWS::Lambda::Permission')
      .filter((permission) => permission.Principal === 'apigateway.amazonaws.com')
      .map(({ FunctionName, SourceArn }) => {
        const [id] = FunctionName['Fn::GetAtt'];
        const pattern = SourceArn['Fn::Join'][1].at(-1);
        return `${pattern} ${production.all('AWS::Lambda::Function')[id]!.Properties.FunctionName}`;
      });
    for (const name of new Set(ROUTES.map((route) => route.function))) {
      expect(permitted).toContain(`/*/*/* ${functionName('production', name)}`);
    }
    expect(permitted).toContain(`/*/$default ${functionName('production', FALLBACK_FUNCTION)}`);
  });

  test('is served at a domain name of its own, over TLS 1.2, when one is given', () => {
    const certificateArn = 'arn:aws:acm:us-east-1:123456789012:certificate/0a1b2c3d';
    const { stateless } = synthesize({
      stage: 'production',
      domainName: 'metrics.example.com',
      certificateArn,
    });
    expect(stateless.only('AWS::ApiGatewayV2::DomainName')).toMatchObject({
      DomainName: 'metrics.example.com',
      DomainNameConfigurations: [{ CertificateArn: certificateArn, SecurityPolicy: 'TLS_1_2' }],
    });
    expect(stateless.only('AWS::ApiGatewayV2::ApiMapping').ApiMappingKey).toBeUndefined();
    expect(production.all('AWS::ApiGatewayV2::DomainName')).toEqual({});
  });

  test('has no stage in its path, throttles, and logs without headers', () => {
    const stage = production.only('AWS::ApiGatewayV2::Stage');
    expect(stage).toMatchObject({
      StageName: '$default',
      AutoDeploy: true,
      DefaultRouteSettings: { ThrottlingRateLimit: 5000, ThrottlingBurstLimit: 5000 },
    });
    expect(JSON.parse(stage.AccessLogSettings.Format)).toMatchObject({ status: '$context.status' });
    expect(stage.AccessLogSettings.Format).not.toMatch(/header/i);
  });
});

describe("the manual's functions", () => {
  const functions = manualRows('What is deployed');

  test('are all functions, each once', () => {
    expect(functions.map(({ name }) => name).sort()).toEqual([...FUNCTIONS].sort());
  });

  test.each(functions)('$name: whether it is in the VPC, and its schedule', ({ name, cells }) => {
    const [id, properties] = functionEntry(production, 'production', name as FunctionName);
    const [inVpc, runs = ''] = cells;
    expect(inVpc).toBe(properties.VpcConfig === undefined ? 'no' : 'yes');
    const rates = production
      .properties('AWS::Events::Rule')
      .filter(({ Targets }) => Targets[0].Arn['Fn::GetAtt'][0] === id)
      .map(({ ScheduleExpression }) =>
        String(ScheduleExpression).replace(/rate\((?:1 )?(.*)\)/, (_, rate) => `each ${rate}`),
      );
    expect(new Set(runs.match(/each (?:\d+ )?(?:minute|hour)s?/g) ?? [])).toEqual(new Set(rates));
  });
});
