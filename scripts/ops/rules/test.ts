import { globSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { Command } from 'commander';
import { RE2JS } from 're2js';
import type { RuleGroup } from '../../../shared/rules/rule-document';
import { parseRuleFile } from '../../../shared/rules/rule-file';
import { progress } from '../command';
import { OperatorError } from '../invoke';
import { readRuleFile } from './check';
import { junitXml } from './junit';
import { type RuleTestFailure, type RuleTestFileResult, type RuleTestResult, runRuleTest } from './run-tests';
import { parseRuleTestFile } from './test-file';

interface TestOptions {
  readonly run?: readonly string[];
  readonly diff?: boolean;
  readonly junit?: string;
  readonly json?: boolean;
  readonly ignoreUnknownFields?: boolean;
}

/** `ops rules test`. */
export function testCommand(): Command {
  return new Command('test')
    .description("run unit tests of rules in promtool's format; exits with 1 if one fails")
    .argument('<file...>', 'test files')
    .option('--run <regex>', 'run only tests whose names match; repeatable', collect)
    .option('--diff', 'show only lines that differ between expected and actual results')
    .option('--junit <file>', 'write the results as JUnit XML')
    .option('--ignore-unknown-fields', 'ignore unknown fields in rule files')
    .option('--json', 'print the results as JSON on stdout')
    .action(async (files: string[], options: TestOptions) => {
      const isWanted = nameFilter(options.run);
      const results: RuleTestFileResult[] = [];
      for (const file of files) {
        const result = await runFile(file, isWanted, options.ignoreUnknownFields === true);
        if (!options.json) console.log(shown(result, options.diff === true));
        results.push(result);
      }
      if (options.json) console.log(JSON.stringify({ files: results }));
      if (options.junit !== undefined) writeFileSync(options.junit, junitXml(results));
      if (results.some(hasFailed)) process.exitCode = 1;
    });
}

function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

/** Returns a filter of test names for `--run`: a name passes if any expression matches anywhere in it. */
function nameFilter(patterns: readonly string[] | undefined): (name: string) => boolean {
  if (patterns === undefined) return () => true;
  try {
    const pattern = RE2JS.compile(patterns.join('|'));
    return (name) => pattern.matcher(name).find();
  } catch (error) {
    throw new OperatorError(`--run: ${(error as Error).message}`);
  }
}

export function hasFailed({ errors, tests }: RuleTestFileResult): boolean {
  return errors.length > 0 || tests.some(({ failures }) => failures.length > 0);
}

async function runFile(
  path: string,
  isWanted: (name: string) => boolean,
  ignoresUnknownFields: boolean,
): Promise<RuleTestFileResult> {
  const { file, faults } = parseRuleTestFile(readRuleFile(path));
  if (faults.length > 0) return { file: path, errors: faults.map((fault) => `${path}: ${fault}`), tests: [] };
  const { groups, errors } = readRules(dirname(path), file.ruleFiles, ignoresUnknownFields);
  if (errors.length > 0) return { file: path, errors, tests: [] };
  const tests: RuleTestResult[] = [];
  for (const test of file.tests) if (isWanted(test.name)) tests.push(await runRuleTest(file, test, groups));
  return { file: path, errors: [], tests };
}

function readRules(
  folder: string,
  patterns: readonly string[],
  ignoresUnknownFields: boolean,
): { groups: RuleGroup[]; errors: string[] } {
  const groups: RuleGroup[] = [];
  const errors: string[] = [];
  for (const pattern of patterns) {
    const paths = globSync(isAbsolute(pattern) ? pattern : join(folder, pattern)).sort();
    if (paths.length === 0) progress(`  WARNING: no file match pattern ${pattern}`);
    for (const path of paths) {
      const parsed = parseRuleFile(readRuleFile(path), ignoresUnknownFields);
      groups.push(...parsed.ruleGroups);
      errors.push(...parsed.faults.map((fault) => `${path}: ${fault}`));
    }
  }
  return { groups, errors };
}

function shown(result: RuleTestFileResult, isDiff: boolean): string {
  const lines = [`Unit Testing:  ${result.file}`];
  for (const { name, unsupported } of result.tests)
    for (const each of unsupported) lines.push(`  NOT SUPPORTED: ${nameOf(name)}${each}`);
  if (!hasFailed(result)) return [...lines, '  SUCCESS', ''].join('\n');
  lines.push('  FAILED:', ...result.errors);
  for (const { name, failures } of result.tests)
    for (const failure of failures) lines.push(failureText(name, failure, isDiff), '');
  return lines.join('\n');
}

function nameOf(name: string): string {
  return name === '' ? '' : `name: ${name}, `;
}

function failureText(name: string, { what, expected, got }: RuleTestFailure, isDiff: boolean): string {
  const head = name === '' ? [] : [`    name: ${name},`];
  if (expected === undefined || got === undefined) return [...head, `    ${what}`].join('\n');
  const body = isDiff
    ? ['        diff:', ...differing('-', expected, got), ...differing('+', got, expected)]
    : [`        exp: ${listText(expected)}`, `        got: ${listText(got)}`];
  return [...head, `    ${what},`, ...body].join('\n');
}

/** Returns the elements of one list that the other lacks. */
function differing(sign: string, list: readonly string[], other: readonly string[]): string[] {
  return list
    .filter((each) => !other.includes(each))
    .flatMap((each) => each.split('\n').map((line) => `          ${sign} ${line}`));
}

function listText(list: readonly string[]): string {
  if (list.length === 0) return '[]';
  return list.map((each) => each.replaceAll('\n', '\n             ')).join(',\n             ');
}
