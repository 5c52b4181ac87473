import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ENV } from '../../shared/platform/names';
import type { RuntimeSettings } from '../../shared/platform/settings';
import { Problem } from './problem';
import { type Right, rightsOf } from './rights';

/**
 * Functions, routes, mappings, schedules and stores, read from a synthesized cloud assembly exactly as they would be
 * deployed.
 */
export interface Stack {
  readonly functions: readonly FunctionResource[];
  readonly routes: readonly RouteResource[];
  /** Functions that have their own URL. */
  readonly functionUrls: readonly FunctionUrlResource[];
  readonly mappings: readonly MappingResource[];
  readonly schedules: readonly ScheduleResource[];
  readonly streams: readonly StreamResource[];
  readonly tables: readonly TableResource[];
  readonly buckets: readonly BucketResource[];
}

export interface FunctionResource {
  readonly logicalId: string;
  readonly name: string;
  /** Absolute path of the bundle's folder. */
  readonly codeDir: string;
  /** `index.handler` */
  readonly handler: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly memoryMb: number;
  /** Permissions of the function's role. */
  readonly rights: readonly Right[];
}

/** Returns functions with some settings changed, as a deployment with those settings would have them. */
export function withSettings(
  functions: readonly FunctionResource[],
  changed: Partial<RuntimeSettings>,
): FunctionResource[] {
  return functions.map((resource) => {
    const { environment } = resource;
    const settings = { ...JSON.parse(environment[ENV.settings]!), ...changed };
    return { ...resource, environment: { ...environment, [ENV.settings]: JSON.stringify(settings) } };
  });
}

export interface RouteResource {
  /** `GET /path/{parameter}` or `$default`. */
  readonly routeKey: string;
  readonly functionName: string;
}

export interface FunctionUrlResource {
  readonly functionName: string;
}

export interface MappingResource {
  readonly functionName: string;
  readonly streamArn: string;
  readonly batchSize: number;
  readonly batchWindowMs: number;
  readonly startingPosition: 'TRIM_HORIZON' | 'LATEST' | 'AT_TIMESTAMP';
  readonly bisectOnError: boolean;
  readonly reportsItemFailures: boolean;
  /** -1 for no limit. */
  readonly maxRetries: number;
  /** -1 for no limit. */
  readonly maxRecordAgeSeconds: number;
  /** ARN of a bucket. */
  readonly onFailure: string | undefined;
}

export interface ScheduleResource {
  readonly functionName: string;
  readonly periodMs: number;
  readonly input: unknown;
}

export interface StreamResource {
  readonly logicalId: string;
  readonly shards: number;
  readonly retentionHours: number;
}

export interface TableResource {
  readonly logicalId: string;
  readonly keySchema: { AttributeName: string; KeyType: string }[];
  readonly attributes: { AttributeName: string; AttributeType: string }[];
}

export interface BucketResource {
  readonly logicalId: string;
}

export const ACCOUNT = '000000000000';
export const REGION = 'us-east-1';

interface Resource {
  readonly Type: string;
  readonly Properties?: Record<string, unknown>;
  readonly Metadata?: Record<string, unknown>;
}

export interface Template {
  readonly Resources?: Record<string, Resource>;
  readonly Outputs?: Record<string, { Value: unknown; Export?: { Name: unknown } }>;
}

/** Returns a store's local name. S3 allows only lower case. */
export function physicalName(logicalId: string): string {
  const words = logicalId.replace(/([a-z])([A-Z])/g, '$1-$2').toLowerCase();
  return `heterotsdb-local-${words}`;
}

/** Reads the templates in a cloud assembly's folder. */
export function readAssembly(dir: string): Stack {
  const manifest = JSON.parse(readFileSync(join(dir, 'manifest.json'), 'utf8')) as {
    artifacts: Record<string, { type: string; properties?: { templateFile?: string } }>;
  };
  const templates = Object.values(manifest.artifacts)
    .filter(({ type }) => type === 'aws:cloudformation:stack')
    .map(
      ({ properties }) => JSON.parse(readFileSync(join(dir, properties!.templateFile!), 'utf8')) as Template,
    );
  return readTemplates(templates, dir);
}

/**
 * Reads CloudFormation templates, and returns the resources that the local stack must run.
 *
 * @param assemblyDir folder to which the bundles' paths are relative
 * @throws {Problem} that says what the local stack cannot run
 */
export function readTemplates(templates: readonly Template[], assemblyDir: string): Stack {
  const exported = new Map<string, () => unknown>();
  for (const template of templates) {
    const resolve = resolver(template, exported);
    for (const output of Object.values(template.Outputs ?? {}))
      if (output.Export !== undefined) exported.set(String(output.Export.Name), () => resolve(output.Value));
  }
  const parts = templates.map((template) =>
    readTemplate(template, resolver(template, exported), assemblyDir),
  );
  const all = <K extends keyof Stack>(key: K) =>
    parts.flatMap((part) => part[key] as readonly unknown[]) as unknown as Stack[K];
  return {
    functions: all('functions'),
    routes: all('routes'),
    functionUrls: all('functionUrls'),
    mappings: all('mappings'),
    schedules: all('schedules'),
    streams: all('streams'),
    tables: all('tables'),
    buckets: all('buckets'),
  };
}

type Resolve = (value: unknown) => unknown;

/** Evaluates CloudFormation's intrinsic functions, with the names that resources have in the local stack. */
function resolver(template: Template, exported: ReadonlyMap<string, () => unknown>): Resolve {
  const pseudo: Record<string, string> = {
    'AWS::Region': REGION,
    'AWS::AccountId': ACCOUNT,
    'AWS::Partition': 'aws',
    'AWS::URLSuffix': 'amazonaws.com',
  };
  const resourceOf = (id: string): Resource => {
    const resource = template.Resources?.[id];
    if (resource === undefined) throw new Problem(`the template refers to ${id}, which it does not have`);
    return resource;
  };
  const ref = (id: string): unknown => {
    if (id in pseudo) return pseudo[id];
    const { Type, Properties } = resourceOf(id);
    return Type === 'AWS::Lambda::Function' ? resolve(Properties?.FunctionName) : physicalName(id);
  };
  const attribute = (id: string, name: string): unknown => {
    const { Type } = resourceOf(id);
    if (name === 'Arn' && Type === 'AWS::Lambda::Function')
      return `arn:aws:lambda:${REGION}:${ACCOUNT}:function:${ref(id)}`;
    if (name === 'Arn' && Type === 'AWS::Kinesis::Stream')
      return `arn:aws:kinesis:${REGION}:${ACCOUNT}:stream/${ref(id)}`;
    if (name === 'Arn' && Type === 'AWS::S3::Bucket') return `arn:aws:s3:::${ref(id)}`;
    if (name === 'Arn' && Type === 'AWS::DynamoDB::Table')
      return `arn:aws:dynamodb:${REGION}:${ACCOUNT}:table/${ref(id)}`;
    // Resources without a local counterpart (the cache's endpoint, security groups) get an unused name.
    return `${physicalName(id)}.${name}`;
  };
  const substitute = (text: string, variables: Record<string, unknown>) =>
    text.replace(/\$\{([^}!]+)\}/g, (_, name: string) => {
      if (name in variables) return String(resolve(variables[name]));
      const [id, ...path] = name.split('.');
      return String(path.length === 0 ? ref(id!) : attribute(id!, path.join('.')));
    });

  const intrinsics: Record<string, (argument: never) => unknown> = {
    Ref: (id: string) => ref(id),
    'Fn::GetAtt': ([id, name]: [string, string]) => attribute(id, name),
    'Fn::Join': ([separator, parts]: [string, unknown[]]) => (resolve(parts) as unknown[]).join(separator),
    'Fn::Select': ([index, list]: [number | string, unknown]) => (resolve(list) as unknown[])[Number(index)],
    'Fn::Split': ([separator, text]: [string, unknown]) => String(resolve(text)).split(separator),
    'Fn::Sub': (argument: string | [string, Record<string, unknown>]) =>
      typeof argument === 'string' ? substitute(argument, {}) : substitute(...argument),
    'Fn::ImportValue': (name: unknown) => {
      const value = exported.get(String(resolve(name)));
      if (value === undefined)
        throw new Problem(`the template imports ${resolve(name)}, which no stack exports`);
      return value();
    },
    'Fn::GetAZs': () => [`${REGION}a`, `${REGION}b`],
  };
  const resolve: Resolve = (value) => {
    if (Array.isArray(value)) return value.map(resolve);
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value);
    const [name, argument] = entries[0] ?? [];
    if (entries.length === 1 && name !== undefined && (name === 'Ref' || name.startsWith('Fn::'))) {
      const evaluate = intrinsics[name];
      if (evaluate === undefined)
        throw new Problem(`the local stack cannot evaluate ${name} ${JSON.stringify(argument)}`);
      return evaluate(argument as never);
    }
    return Object.fromEntries(entries.map(([key, inner]) => [key, resolve(inner)]));
  };
  return resolve;
}

function readTemplate(template: Template, resolve: Resolve, assemblyDir: string): Stack {
  const entries = Object.entries(template.Resources ?? {});
  const ofType = (type: string) =>
    entries
      .filter(([, resource]) => resource.Type === type)
      .map(([logicalId, { Properties, Metadata }]) => ({
        logicalId,
        properties: Properties ?? {},
        metadata: Metadata,
      }));
  // biome-ignore lint/suspicious/noExplicitAny: CloudFormation's own schema types it
  const resolved = (properties: Record<string, unknown>) => resolve(properties) as Record<string, any>;
  const integrations = new Map(
    ofType('AWS::ApiGatewayV2::Integration').map(({ logicalId, properties }) => [
      logicalId,
      nameOfArn(resolve(properties.IntegrationUri)),
    ]),
  );

  const rightsOfRole = (roleId: unknown) =>
    ofType('AWS::IAM::Policy')
      .filter(({ properties }) => (properties.Roles as { Ref: string }[]).some(({ Ref }) => Ref === roleId))
      .flatMap(({ properties }) => rightsOf(resolved(properties).PolicyDocument.Statement));

  return {
    functions: ofType('AWS::Lambda::Function').map(({ logicalId, properties, metadata }) => {
      const path = metadata?.['aws:asset:path'];
      if (typeof path !== 'string') throw new Problem(`function ${logicalId} has no bundle in the assembly`);
      return {
        logicalId,
        name: String(resolve(properties.FunctionName)),
        codeDir: join(assemblyDir, path),
        handler: String(properties.Handler),
        environment: resolved(
          (properties.Environment as { Variables?: Record<string, unknown> })?.Variables ?? {},
        ),
        timeoutMs: Number(properties.Timeout ?? 3) * 1000,
        memoryMb: Number(properties.MemorySize ?? 128),
        rights: rightsOfRole(
          (properties.Role as { 'Fn::GetAtt'?: string[] } | undefined)?.['Fn::GetAtt']?.[0],
        ),
      };
    }),
    routes: ofType('AWS::ApiGatewayV2::Route').map(({ logicalId, properties }) => {
      const target = JSON.stringify(properties.Target);
      const integration = [...integrations].find(([id]) => target.includes(`"${id}"`));
      if (integration === undefined) throw new Problem(`route ${logicalId} has no integration`);
      return { routeKey: String(properties.RouteKey), functionName: integration[1] };
    }),
    functionUrls: ofType('AWS::Lambda::Url').map(({ properties }) => ({
      functionName: nameOfArn(resolve(properties.TargetFunctionArn)),
    })),
    mappings: ofType('AWS::Lambda::EventSourceMapping').map(({ properties }) =>
      mappingOf(resolved(properties)),
    ),
    schedules: ofType('AWS::Events::Rule').flatMap(({ logicalId, properties }) => {
      const p = resolved(properties);
      if (p.State === 'DISABLED' || p.ScheduleExpression === undefined) return [];
      const periodMs = periodOf(String(p.ScheduleExpression), logicalId);
      return (p.Targets as { Arn: string; Input?: string }[]).map(({ Arn, Input }) => ({
        functionName: nameOfArn(Arn),
        periodMs,
        input: Input === undefined ? {} : JSON.parse(Input),
      }));
    }),
    streams: ofType('AWS::Kinesis::Stream').map(({ logicalId, properties }) => ({
      logicalId,
      // Only an on-demand stream has no shard count. Kinesis starts it with four shards.
      shards: Number(properties.ShardCount ?? 4),
      retentionHours: Number(properties.RetentionPeriodHours ?? 24),
    })),
    tables: ofType('AWS::DynamoDB::Table').map(({ logicalId, properties }) => ({
      logicalId,
      keySchema: properties.KeySchema as TableResource['keySchema'],
      attributes: properties.AttributeDefinitions as TableResource['attributes'],
    })),
    buckets: ofType('AWS::S3::Bucket').map(({ logicalId }) => ({ logicalId })),
  };
}

/** Returns the name in a function's name, partial ARN or full ARN. */
export function nameOfArn(arn: unknown): string {
  return String(arn).split(':').at(-1)!;
}

/**
 * Reads the properties of an event source mapping, which have the same names in CloudFormation as in Lambda's API.
 */
// biome-ignore lint/suspicious/noExplicitAny: CloudFormation's own schema types it
export function mappingOf(properties: Record<string, any>): MappingResource {
  const p = properties;
  return {
    functionName: nameOfArn(p.FunctionName),
    streamArn: String(p.EventSourceArn),
    batchSize: Number(p.BatchSize ?? 100),
    batchWindowMs: Number(p.MaximumBatchingWindowInSeconds ?? 0) * 1000,
    startingPosition: p.StartingPosition,
    bisectOnError: p.BisectBatchOnFunctionError === true,
    reportsItemFailures: (p.FunctionResponseTypes ?? []).includes('ReportBatchItemFailures'),
    maxRetries: Number(p.MaximumRetryAttempts ?? -1),
    maxRecordAgeSeconds: Number(p.MaximumRecordAgeInSeconds ?? -1),
    onFailure: p.DestinationConfig?.OnFailure?.Destination,
  };
}

const PERIOD_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

/** Returns the period of a rate such as `rate(5 minutes)`, in ms. */
export function periodOf(expression: string, logicalId: string): number {
  const match = /^rate\((\d+) (minute|hour|day)s?\)$/.exec(expression);
  if (match === null)
    throw new Problem(`schedule ${logicalId}: the local stack knows rate(...), not ${expression}`);
  return Number(match[1]) * PERIOD_MS[match[2] as keyof typeof PERIOD_MS];
}
