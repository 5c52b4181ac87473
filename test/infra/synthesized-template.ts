import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { context } from '../../cdk.json';
import { readConfig } from '../../infra/config';
import { addStacks } from '../../infra/stacks';
import { periodOf } from '../../scripts/local/template';
import type { StageTemplate } from '../../shared/cost/stage-cost';
import { FUNCTIONS, type FunctionName, functionName } from '../../shared/platform/names';
import { HOURS_OF_MONTH } from '../../shared/platform/prices';
import { QUICK } from './synthesize';

interface Resource {
  readonly Type: string;
  // biome-ignore lint/suspicious/noExplicitAny: a template is JSON of as many shapes as there are resource types
  readonly Properties: Record<string, any>;
}

/**
 * Reads from a stage's templates the figures that determine its idle cost. Synthesizes the templates without
 * bundles.
 *
 * @param settings as `npx cdk -c key=value` takes them
 * @throws {InvalidSettingError} with one sentence that names what is wrong
 */
export function synthesizedTemplate(
  stage: string,
  settings: Readonly<Record<string, string>>,
): StageTemplate {
  const config = readConfig({ stage, ...settings });
  const outdir = mkdtempSync(join(tmpdir(), 'heterotsdb-cost-'));
  try {
    // checks.test.ts checks the templates of every stage, which takes longer than a synthesis.
    process.env.CDK_VALIDATION = 'false';
    const app = new App({ outdir, context: { ...context, ...QUICK }, treeMetadata: false });
    addStacks(app, config);
    const resources = app
      .synth()
      .stacks.flatMap(({ template }) => Object.entries(template.Resources as Record<string, Resource>));
    const ofType = (type: string): (Resource['Properties'] & { readonly id: string })[] =>
      resources.flatMap(([id, { Type, Properties }]) => (Type === type ? [{ id, ...Properties }] : []));
    const functions = ofType('AWS::Lambda::Function');
    const named = (name: FunctionName) =>
      functions.find(({ FunctionName }) => FunctionName === functionName(config.stage, name))!;
    const nameOf = (id: string) =>
      FUNCTIONS.find((name) => named(name).id === id) as (typeof FUNCTIONS)[number];
    return {
      settings: config.settings,
      ticks: ofType('AWS::Events::Rule')
        .filter(({ State }) => State === 'ENABLED')
        .flatMap(({ id, Targets, ScheduleExpression }) =>
          Targets.map(({ Arn }: Resource['Properties']) => ({
            name: nameOf(Arn['Fn::GetAtt'][0]),
            perMonth: (HOURS_OF_MONTH * 3_600_000) / periodOf(ScheduleExpression, id),
          })),
        ),
      memoryMb: Object.fromEntries(FUNCTIONS.map((name) => [name, named(name).MemorySize])) as Record<
        FunctionName,
        number
      >,
      isTraced: (name) => named(name).TracingConfig?.Mode === 'Active',
      alarmMetrics: ofType('AWS::CloudWatch::Alarm').flatMap(
        ({ Metrics }) => Metrics?.filter(({ MetricStat }: Resource['Properties']) => MetricStat) ?? ['one'],
      ).length,
      dashboards: ofType('AWS::CloudWatch::Dashboard').length,
    };
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}
