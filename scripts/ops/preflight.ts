import { Command, Option } from 'commander';
import { FUNCTIONS, functionName, stageName } from '../../shared/platform/names';
import { print } from './command';
import { inSentences, parseSetting } from './load-options';
import { type Finding, preflightFindings } from './preflight-findings';
import { table } from './table';

interface PreflightOptions {
  readonly stage: string;
  readonly set: Readonly<Record<string, string>>;
  readonly json?: boolean;
}

/** The output of `ops preflight --json`. */
interface PreflightReport {
  /** The command that deploys the stage. */
  readonly deploy: string;
  /** Monthly cost without posts and reads. */
  readonly dollars: number;
  readonly findings: readonly Finding[];
}

/** `ops preflight`. It only reads from the account. */
export function preflightCommand(): Command {
  return new Command('preflight')
    .description('check an AWS account and region before the first deployment')
    .option('--stage <name>', 'the stage to deploy: dev, staging or production', 'production')
    .addOption(
      new Option('--set <key=value>', 'override a setting, as with cdk deploy -c; repeatable')
        .argParser(parseSetting)
        .default({}, "the stage's settings"),
    )
    .option('--json', 'print the result as JSON on stdout')
    .action(async ({ stage, set, json }: PreflightOptions) => {
      const [{ idleReport }, { deployedStage }, { lookAtAccount }] = await Promise.all([
        import('./cost-report'),
        import('./stage-template'),
        import('./account'),
      ]);
      const { settings } = inSentences(() => deployedStage(stage, set)).template;
      const { deploy, dollars } = inSentences(() => idleReport({ stage, set }));
      const names = {
        stacks: ['stateful', 'stateless'].map((half) => `${stageName(stage)}-${half}`),
        functions: FUNCTIONS.map((name) => functionName(stage, name)),
      };
      const findings = preflightFindings(await lookAtAccount(names), settings, names);
      print({ json }, { deploy, dollars, findings }, preflightText);
      if (findings.some(({ state }) => state === 'wrong')) process.exitCode = 1;
    });
}

function preflightText({ deploy, dollars, findings }: PreflightReport): string {
  const open = findings.filter(({ todo }) => todo !== undefined);
  return [
    table(
      ['', 'what', 'found'],
      findings.map(({ what, state, saw }) => [state, what, saw]),
    ),
    '',
    ...open.map(({ what, todo }) => `${what}: ${todo}`),
    ...(open.length > 0 ? [''] : []),
    `A month without load costs about $${dollars.toFixed(0)}. ${open.length === 0 ? 'Deploy with' : 'Then deploy with'}`,
    `  ${deploy}`,
  ].join('\n');
}
