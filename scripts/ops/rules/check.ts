import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { mapLimited } from '../../../shared/platform/concurrency';
import { lintRuleGroup, selectorsOf } from '../../../shared/rules/lint';
import type { RuleGroup } from '../../../shared/rules/rule-document';
import { parseRuleFile } from '../../../shared/rules/rule-file';
import { type ApiKeyOptions, withApi } from '../api-key';
import { type CommonOptions, command, print } from '../command';
import { OperatorError } from '../invoke';
import { Ruler } from './ruler';

/** Result of checking one file. */
interface CheckedFile {
  readonly file: string;
  readonly groups: number;
  readonly rules: number;
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

type CheckOptions = CommonOptions &
  ApiKeyOptions & {
    readonly strict?: boolean;
    readonly ignoreUnknownFields?: boolean;
    readonly stored?: boolean;
  };

const DAY_S = 86_400;
/** Number of selectors that are looked up at the same time. */
const PARALLEL = 8;

/** `ops rules check`. */
export function checkCommand(): Command {
  return withApi(
    command('check', "check rule files for Prometheus' errors and for likely mistakes; needs no stack"),
  )
    .argument('<file...>', 'rule files')
    .option('--strict', 'treat warnings as errors')
    .option('--ignore-unknown-fields', 'ignore unknown fields')
    .option('--stored', 'ask the stack, and warn of selectors without a series in the last day')
    .action(async (files: string[], options: CheckOptions) => {
      const parsed = files.map((file) => ({
        file,
        ...parseRuleFile(readRuleFile(file), options.ignoreUnknownFields),
      }));
      const absent = options.stored
        ? await absentOf(
            parsed.flatMap(({ ruleGroups }) => ruleGroups),
            new Ruler(options),
          )
        : new Set<string>();
      const checked = parsed.map((each) => checkFile(each, absent));
      print(options, { files: checked }, ({ files: all }) => all.map(shown).join('\n'));
      const isBad = ({ errors, warnings }: CheckedFile) =>
        errors.length > 0 || (options.strict === true && warnings.length > 0);
      if (checked.some(isBad)) process.exitCode = 1;
    });
}

/** Returns the selectors in the groups that match no series of the last day. */
async function absentOf(groups: readonly RuleGroup[], ruler: Ruler): Promise<Set<string>> {
  const endS = Math.ceil(Date.now() / 1000);
  const found = await mapLimited([...selectorsOf(groups)], PARALLEL, async (selector) => {
    const parameters = { 'match[]': selector, start: `${endS - DAY_S}`, end: `${endS}`, limit: '1' };
    const series = await ruler.read<unknown[]>(`series?${new URLSearchParams(parameters)}`);
    return series.length === 0 ? [selector] : [];
  });
  return new Set(found.flat());
}

function checkFile(
  { file, ruleGroups, faults }: { readonly file: string } & ReturnType<typeof parseRuleFile>,
  absent: ReadonlySet<string>,
): CheckedFile {
  const warnings = [
    ...ruleGroups.flatMap(lintRuleGroup),
    ...[...selectorsOf(ruleGroups)]
      .filter((selector) => absent.has(selector))
      .map((selector) => `no series of the last day matches ${selector}`),
  ];
  return {
    file,
    groups: ruleGroups.length,
    rules: ruleGroups.reduce((sum, { rules }) => sum + rules.length, 0),
    errors: faults.map((fault) => `${file}: ${fault}`),
    warnings: warnings.map((warning) => `${file}: ${warning}`),
  };
}

/** @throws {OperatorError} if the file cannot be read */
export function readRuleFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new OperatorError(`cannot read ${file}: ${(error as Error).message}`);
  }
}

function shown({ file, rules, errors, warnings }: CheckedFile): string {
  const lines = [`Checking ${file}`];
  if (errors.length > 0) lines.push('  FAILED:', ...errors);
  else lines.push(`  SUCCESS: ${rules} ${rules === 1 ? 'rule' : 'rules'} found`);
  return [...lines, ...warnings.map((warning) => `  WARNING: ${warning}`), ''].join('\n');
}
