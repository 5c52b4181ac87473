import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ENV } from '../../shared/names';

interface Resource {
  readonly Type: string;
  Properties: Record<string, never>;
  DependsOn?: string | string[];
}

export interface Template {
  readonly Resources: Record<string, Resource>;
  readonly Outputs?: Record<string, unknown>;
}

/** What ministack's CloudFormation refuses to know (1.5.33): left out, with nothing that anything else refers to. */
const UNKNOWN_TYPES = ['AWS::EC2::FlowLog', 'AWS::Budgets::Budget'];

/**
 * Makes an assembly deployable to ministack: without the types it refuses, and with a real Valkey in place of the
 * cache, which there has no server behind it. Everything else is deployed as it is synthesized.
 *
 * @param change made to each template afterwards, by its file's name
 */
export function adaptToMinistack(
  assemblyDir: string,
  redisUrl: string,
  change: (template: Template, file: string) => void = () => {},
): void {
  for (const stack of ['stateful', 'stateless']) {
    const name = `heterotsdb-dev-${stack}.template.json`;
    const file = join(assemblyDir, name);
    const template = JSON.parse(readFileSync(file, 'utf8')) as Template;
    for (const [id, resource] of Object.entries(template.Resources)) {
      if (UNKNOWN_TYPES.includes(resource.Type)) delete template.Resources[id];
      const variables = (resource.Properties as { Environment?: { Variables?: Record<string, unknown> } })
        ?.Environment?.Variables;
      if (variables !== undefined && ENV.redis in variables) variables[ENV.redis] = redisUrl;
    }
    change(template, name);
    writeFileSync(file, JSON.stringify(template, undefined, 1));
  }
}
