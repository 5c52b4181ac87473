import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { lintGroup } from '../../../shared/alerting/lint';
import { parseRuleFile } from '../../../shared/alerting/rule-file';
import { OperatorError } from '../invoke';

/** Result of checking one file. */
interface CheckedFile {
  readonly file: string;
  readonly groups: number;
  readonly rules: number;
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

interface CheckOptions {
  readonly json?: boolean;
  readonly strict?: boolean;
  readonly ignoreUnknownFields?: boolean;
}

/** `ops rules check`. */
export function checkCommand(): Command {
  return new Command('check')
    .description("check rule files for Prometheus' errors and for likely mistakes")
    .argument('<file...>', 'rule files')
    .option('--strict', 'treat warnings as errors')
    .option('--ignore-unknown-fields', 'ignore unknown fields')
    .option('--json', 'print the result as JSON on stdout')
    .action((files: string[], options: CheckOptions) => {
      const checked = files.map((file) => checkFile(file, options));
      console.log(options.json ? JSON.stringify({ files: checked }) : checked.map(shown).join('\n'));
      const isBad = ({ errors, warnings }: CheckedFile) =>
        errors.length > 0 || (options.strict === true && warnings.length > 0);
      if (checked.some(isBad)) process.exitCode = 1;
    });
}

function checkFile(file: string, { ignoreUnknownFields }: CheckOptions): CheckedFile {
  const { groups, faults } = parseRuleFile(readRuleFile(file), ignoreUnknownFields);
  return {
    file,
    groups: groups.length,
    rules: groups.reduce((sum, { rules }) => sum + rules.length, 0),
    errors: faults.map((fault) => `${file}: ${fault}`),
    warnings: groups.flatMap(lintGroup).map((warning) => `${file}: ${warning}`),
  };
}

/** @throws {OperatorError} when the file cannot be read */
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
