import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** A call that broke AWS's contract, in the form in which scripts/local/contract.py records it. */
interface Break {
  /** `model`, `rights`, `refused`, or the name of a limit in scripts/local/aws-limits.json. */
  readonly rule: string;
  readonly function: string | null;
  readonly call: string;
  readonly sentence: string;
}

const runFolder = process.env.CONTRACT_DIR!;
const folder = join(runFolder, process.env.JEST_WORKER_ID!);
const file = join(folder, 'breaks.jsonl');
const reported = join(folder, 'reported');
// The stacks that this file's tests start pass this variable on to their processes, which record in the folder the
// calls that broke the contract.
process.env.CONTRACT_DIR = folder;

const expected: { readonly rule: string; readonly call: RegExp }[] = [];

/** Allows the running test to make calls that AWS refuses under a rule. */
export function expectRefusals(rule: string, call: RegExp): void {
  expected.push({ rule, call });
}

/** Records that all tests of a file have ended, for the check of the whole run (aws-run-ended.cjs). */
export function noteEnd(): void {
  writeFileSync(join(runFolder, `ended-${basename(expect.getState().testPath!)}`), '');
}

/** Fails the test in which a call broke AWS's contract. */
export function failOnBreaks(): void {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
  const seen = existsSync(reported) ? Number(readFileSync(reported, 'utf8')) : 0;
  const allowed = expected.splice(0);
  if (lines.length === seen) return;
  writeFileSync(reported, String(lines.length));
  const breaks = lines
    .slice(seen)
    .map((line) => JSON.parse(line) as Break)
    .filter((found) => !allowed.some(({ rule, call }) => rule === found.rule && call.test(found.call)));
  if (breaks.length === 0) return;
  const sentences = breaks.map(
    ({ rule, call, ...of }) => `${of.function ?? '-'} ${call}, ${rule}: ${of.sentence}`,
  );
  throw new Error(`calls broke the contract of AWS:\n${[...new Set(sentences)].join('\n')}`);
}
