import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDir } from '../support/temporary-dir';

const testDir = join(__dirname, '..');
const FILES = readdirSync(join(testDir, 'integration'));

interface Run {
  readonly used: readonly string[];
  readonly allowed: readonly string[];
  readonly function?: string;
  readonly ended?: readonly string[];
  readonly allNamesRun?: boolean;
  readonly breaks?: readonly string[];
}

/** Ends a run of the integration tests, which left these journals. */
function endOf({ used, allowed, function: name = 'heterotsdb-local-query', ...run }: Run) {
  const dir = temporaryDir();
  const worker = join(dir, '1');
  mkdirSync(worker);
  const journal = {
    calls: { 'x dynamodb:Query': 2 },
    actions: { [name]: used },
    allowed: { [name]: allowed },
  };
  writeFileSync(join(worker, 'calls-1.json'), JSON.stringify(journal));
  if (run.breaks !== undefined) writeFileSync(join(worker, 'breaks.jsonl'), `${run.breaks.join('\n')}\n`);
  for (const file of run.ended ?? FILES) writeFileSync(join(dir, `ended-${file}`), '');
  const ended = join(testDir, 'support', 'aws-run-ended.cjs');
  const { status, stderr } = spawnSync(process.execPath, ['-e', `require(${JSON.stringify(ended)})()`], {
    env: { CONTRACT_DIR: dir, ALL_NAMES_RUN: (run.allNamesRun ?? true) ? '1' : '' },
    encoding: 'utf8',
  });
  return { status, stderr: stderr.trim() };
}

describe('the end of a run of the integration tests', () => {
  const rights = { used: ['dynamodb:Query'], allowed: ['dynamodb:Query', 'dynamodb:Scan'] };

  test('fails a whole run if a function has a right that no test used, and names it', () => {
    expect(endOf(rights)).toEqual({
      status: 1,
      stderr: 'rights without use:\nheterotsdb-local-query may dynamodb:Scan, and no test makes it do so',
    });
  });

  test.each([
    { name: 'a file was not run', run: { ...rights, ended: FILES.slice(1) } },
    { name: 'tests were chosen by name', run: { ...rights, allNamesRun: false } },
    { name: 'every right was used', run: { used: rights.allowed, allowed: rights.allowed } },
    {
      name: 'AWS itself uses the right',
      run: { used: [], allowed: ['s3:ListBucket', 'xray:PutTraceSegments'] },
    },
  ])('passes if $name', ({ run }) => {
    expect(endOf(run)).toEqual({ status: 0, stderr: '' });
  });

  test('knows by function which right AWS itself uses', () => {
    const recovery = { used: [], allowed: ['s3:ListBucket'], function: 'heterotsdb-local-recovery' };
    expect(endOf(recovery)).toMatchObject({ status: 1, stderr: expect.stringContaining('s3:ListBucket') });
  });

  test('fails any run in which a call broke the contract and no test failed for it', () => {
    expect(endOf({ used: [], allowed: [], ended: [], breaks: ['{"rule":"model"}'] })).toEqual({
      status: 1,
      stderr: 'calls broke the contract of AWS:\n{"rule":"model"}',
    });
  });
});
