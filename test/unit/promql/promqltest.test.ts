import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runPromqlTest } from '../../support/promqltest';

const OURS = join(__dirname, '../../golden/promql');

test.each(readdirSync(OURS))('%s holds', async (file) => {
  const outcomes = await runPromqlTest(readFileSync(join(OURS, file), 'utf8'));
  expect(outcomes.length).toBeGreaterThan(0);
  expect(outcomes.filter(({ failure, skipped }) => failure !== undefined || skipped !== undefined)).toEqual(
    [],
  );
});

/**
 * Failing cases, by file, that need flags which are off by default. They also fail on a Prometheus with the default
 * flags.
 */
const OF_FLAGS: Readonly<Record<string, { readonly why: string; readonly cases: number }>> = {
  'name_label_dropping.test': { why: 'delayed name removal', cases: 8 },
  'type_and_unit.test': { why: 'type and unit labels', cases: 4 },
  'info.test': { why: 'info() is experimental, so its error is another', cases: 1 },
};

/** Folder of Prometheus' own test files: PROMQLTEST=<a folder with promql/promqltest/testdata>. */
const theirs = process.env.PROMQLTEST ?? '';

if (theirs !== '')
  test("Prometheus' own test files pass", async () => {
    const failures: string[] = [];
    const skipped = new Map<string, number>();
    const flagged = Object.fromEntries(Object.keys(OF_FLAGS).map((file) => [file, 0]));
    let count = 0;
    for (const file of readdirSync(theirs).filter((name) => name.endsWith('.test'))) {
      const outcomes = await runPromqlTest(readFileSync(join(theirs, file), 'utf8'));
      count += outcomes.length;
      for (const { line, text, failure, skipped: reason } of outcomes) {
        const flag = OF_FLAGS[file];
        if (failure !== undefined && flag !== undefined && ++flagged[file]! <= flag.cases) continue;
        if (failure !== undefined) failures.push(`${file}:${line}: ${text}: ${failure.slice(0, 400)}`);
        if (reason !== undefined)
          skipped.set(`${file}: ${reason}`, (skipped.get(`${file}: ${reason}`) ?? 0) + 1);
      }
    }
    process.stdout.write(
      `${count} evals, ${failures.length} failed, other defaults: ${JSON.stringify(flagged)}, not applicable: ${JSON.stringify(Object.fromEntries(skipped), null, 1)}\n${failures.join('\n')}\n`,
    );
    expect(failures).toEqual([]);
  });
