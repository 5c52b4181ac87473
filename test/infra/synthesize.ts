import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { context } from '../../cdk.json';
import { readConfig } from '../../infra/config';
import { addStacks } from '../../infra/stacks';

export interface Resource {
  readonly Type: string;
  // biome-ignore lint/suspicious/noExplicitAny: a template is JSON of as many shapes as there are resource types
  readonly Properties: Record<string, any>;
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
}

/** A synthesized stack, with queries for its resources. */
export class Synthesized {
  constructor(
    readonly template: {
      readonly Resources: Record<string, Resource>;
      readonly Outputs?: Record<string, { readonly Value: unknown }>;
    },
  ) {}

  /** Resources of a type, by logical id. */
  all(type: string): Record<string, Resource> {
    return Object.fromEntries(Object.entries(this.template.Resources).filter(([, r]) => r.Type === type));
  }

  /** Properties of each resource of a type. */
  properties(type: string): Resource['Properties'][] {
    return Object.values(this.all(type)).map((resource) => resource.Properties);
  }

  /** Properties of the one resource of a type. */
  only(type: string): Resource['Properties'] {
    const found = this.properties(type);
    if (found.length !== 1) throw new Error(`${found.length} resources of type ${type}`);
    return found[0]!;
  }
}

/** Omits what no template contains: the bundles, and where in the code each construct was made. */
export const QUICK = { 'aws:cdk:bundling-stacks': [], 'aws:cdk:disable-creation-stack-traces': true };

/**
 * Synthesizes what `cdk synth -c ...` does, but without bundling the functions.
 *
 * @param choices the `-c key=value` of the command line
 * @param isChecked whether the rules of cdk-nag and of CloudFormation are checked, too. They take longer than a
 *   synthesis, and checks.test.ts applies them to every stage. @default false
 * @throws when a setting is wrong, or a check finds something that is not acknowledged
 */
export function synthesize(
  choices: Readonly<Record<string, unknown>> = {},
  isChecked = false,
): {
  app: App;
  stateful: Synthesized;
  stateless: Synthesized;
} {
  const outdir = mkdtempSync(join(tmpdir(), 'heterotsdb-synth-'));
  try {
    process.env.CDK_VALIDATION = String(isChecked);
    const app = new App({ outdir, context: { ...context, ...QUICK }, treeMetadata: false });
    const stacks = addStacks(app, readConfig(choices));
    const assembly = app.synth();
    const read = (name: string) => new Synthesized(assembly.getStackByName(name).template);
    return { app, stateful: read(stacks.stateful.stackName), stateless: read(stacks.stateless.stackName) };
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}
