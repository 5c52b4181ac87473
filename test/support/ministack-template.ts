import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ENV } from '../../shared/platform/names';

interface Resource {
  readonly Type: string;
  Properties: Record<string, never>;
  DependsOn?: string | string[];
}

export interface Template {
  readonly Resources: Record<string, Resource>;
  readonly Outputs?: Record<string, unknown>;
}

/** Resource types that ministack's CloudFormation (1.5.33) rejects, and to which no other resource refers. */
const UNKNOWN_TYPES = ['AWS::EC2::FlowLog', 'AWS::Budgets::Budget'];

/**
 * Makes an assembly deployable to ministack. Removes the resource types that ministack rejects, and replaces the
 * cache, which has no server in ministack, with a real Valkey. Everything else stays as synthesized.
 *
 * @param change applied to each template afterwards, with the name of its file
 */
export function adaptToMinistack(
  assemblyDir: string,
  redisUrl: string,
  change: (template: Template, file: string) => void = () => {},
): void {
  for (const stack of ['stateful', 'stateless']) {
    const name = `heterotsdb-dev-${stack}.template.json`;
    const file = join(assemblyDir, name);
    const template = JSON.parse(readFileSync(file, 'utf8'), adapted) as Template;
    for (const [id, resource] of Object.entries(template.Resources)) {
      if (UNKNOWN_TYPES.includes(resource.Type)) delete template.Resources[id];
      const variables = (resource.Properties as { Environment?: { Variables?: Record<string, unknown> } })
        ?.Environment?.Variables;
      if (variables !== undefined && ENV.redis in variables) variables[ENV.redis] = redisUrl;
      // The canary's API address cannot be used, because the names of ministack's APIs do not resolve.
      if (variables !== undefined && ENV.apiUrl in variables) variables[ENV.apiUrl] = 'http://127.0.0.1:9/';
    }
    change(template, name);
    const text = JSON.stringify(template, undefined, 1);
    writeFileSync(file, text);
    rename(assemblyDir, name, createHash('sha256').update(text).digest('hex'));
  }
}

/**
 * Gives a changed template a new name in the assets bucket, which may still have the old template under the old name.
 */
function rename(assemblyDir: string, template: string, hash: string): void {
  const assets = join(assemblyDir, template.replace('.template.', '.assets.'));
  const { files } = JSON.parse(readFileSync(assets, 'utf8')) as {
    files: Record<string, { source: { path: string } }>;
  };
  const old = Object.keys(files).find((id) => files[id]!.source.path === template)!;
  for (const file of [assets, join(assemblyDir, 'manifest.json')])
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(old, hash));
}

function adapted(key: string, value: unknown): unknown {
  return key === 'Statement' && Array.isArray(value) ? withBatchStatements(value) : withoutEndpoint(value);
}

/**
 * For each statement in a batch, AWS asks for a right such as `dynamodb:PartiQLInsert` on the statement's
 * table. ministack asks for `dynamodb:BatchExecuteStatement` on everything, so this adds that right.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-iam.html
 */
function withBatchStatements(statements: readonly { readonly Action?: unknown }[]): unknown {
  return statements.some(({ Action }) => [Action].flat().includes('dynamodb:PartiQLInsert'))
    ? [...statements, { Effect: 'Allow', Action: 'dynamodb:BatchExecuteStatement', Resource: '*' }]
    : statements;
}

/**
 * Replaces references to a cache's configuration endpoint, which ministack does not have. Nobody uses the
 * output.
 */
function withoutEndpoint(value: unknown): unknown {
  const attribute = (value as { 'Fn::GetAtt'?: unknown[] } | null)?.['Fn::GetAtt'];
  return attribute?.[1] === 'ConfigurationEndPoint.Address' ? 'localhost' : value;
}
