import { concurrencyProblem } from '../../../scripts/ops/smoke';
import { runOps } from '../../support/ops';

test.each([
  { name: 'a local stack has no account', concurrency: undefined, says: [] },
  { name: 'the quota is the one of the stage', concurrency: { account: 1000, stage: 1000 }, says: [] },
  {
    name: 'a new account has a quota of 10',
    concurrency: { account: 10, stage: 1000 },
    says: [
      'The account runs 10 functions at a time, and the stage is deployed for 1000: ask AWS for more (quota L-B99A9384 of Lambda), or deploy with -c accountConcurrency=10, so that the alarm "concurrency" fits.',
    ],
  },
  {
    name: 'the quota was raised',
    concurrency: { account: 5000, stage: 1000 },
    says: [
      'The account runs 5000 functions at a time, and the stage is deployed for 1000: deploy with -c accountConcurrency=5000, so that the alarm "concurrency" fits.',
    ],
  },
])('$name: the smoke test says $says', ({ concurrency, says }) => {
  expect(concurrencyProblem(concurrency)).toEqual(says);
});

test.each([
  {
    options: ['--deep', '--skip', 'nothing'],
    says: 'Give one of functions, archive, replay, failover, restore,',
  },
  { options: ['--skip', 'failover'], says: '--skip needs --deep' },
])('smoke $options is refused: $says', async ({ options, says }) => {
  expect(await runOps('smoke', ...options)).toMatchObject({ code: 1, err: expect.stringContaining(says) });
});
