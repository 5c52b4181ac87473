import { type Command, InvalidArgumentError, Option } from 'commander';
import type { StageDescription } from '../../shared/operations/stage-command';
import { stageName } from '../../shared/platform/names';
import { apiUrlOf, apiUrlOption } from './api-url';
import { type CommonOptions, command, progress, run } from './command';
import { withCommandKey } from './command-key';
import { drain } from './drain';
import { type Functions, OperatorError, stageOf } from './invoke';
import { parseDurationOption } from './option-values';
import { DEEP_STEPS, type DeepAccount, type DeepStep, type DeepStepName, deepSteps } from './smoke-deep';
import {
  SMOKE_METRIC,
  SMOKE_TENANT,
  type SmokeSample,
  type TierCounts,
  untilAnswered,
  untilRead,
} from './smoke-sample';
import { table } from './table';
import { TenantApi } from './tenant-api';

export interface SmokeOptions {
  /** Address of the HTTP API. */
  readonly apiUrl: string;
  /** Maximum time until a posted sample can be read, in ms. */
  readonly patience: number;
  /** Also runs the steps of a deep test, except those to skip. */
  readonly deep?: boolean;
  readonly skip: readonly DeepStepName[];
}

export interface SmokeResult {
  readonly hostId: string;
  readonly postMs: number;
  /** Time from the response to the post until a read returned the sample. */
  readonly readableMs: number;
  /** Number of group-windows moved by the drain. */
  readonly drained: number;
  /** Samples returned by each tier before and after the drain. */
  readonly tiers: { readonly before: Readonly<TierCounts>; readonly after: Readonly<TierCounts> };
  /** Concurrent executions: the account's quota and the stage's setting; undefined for a local stack. */
  readonly concurrency: { readonly account: number; readonly stage: number } | undefined;
  /** Steps of the deep test; undefined without `--deep`. */
  readonly steps?: readonly DeepStep[];
}

/** Lifetime of a smoke test's key, in ms. */
const KEY_LIFETIME_MS = 15 * 60_000;
const DEEP_KEY_LIFETIME_MS = 3 * 3_600_000;
/** All smoke tests share one host, with this custom identifier. */
const CUSTOM_IDENTIFIER = 'heterotsdb-smoke';

/** `ops smoke`. */
export function smokeCommand(): Command {
  return command(
    'smoke',
    'test a stack: post a sample as a new tenant, read it from memory, drain it, and read it from the warm tier',
  )
    .addOption(apiUrlOption())
    .addOption(
      new Option('--patience <duration>', 'maximum time until the sample can be read')
        .argParser(parseDurationOption)
        .default(60_000, '60s'),
    )
    .option('--deep', 'also run the steps below, which takes up to an hour on AWS')
    .option('--skip <step>', 'leave out a step of --deep; repeatable', addSkip, [])
    .addHelpText(
      'after',
      `
Steps of --deep. If a step fails, the others run all the same, and the exit code is 1.
  functions  calls the functions that no other step needs
  archive    imports a sample from yesterday, archives it, and finds it in the bucket
  replay     reads the stream again from the test's start
  failover   makes a replica of the cache's first shard its primary, and waits until the loss is repaired; readers
             may get 503 meanwhile
  restore    restores the meta table to a new table, reads an item of it, and deletes it
  removal    deletes the test's samples from every tier
  alarms     checks that the metrics which alarms watch have values
On a local stack, failover, restore and alarms are skipped. The tenant ${SMOKE_TENANT} and its host stay for the next test.`,
    )
    .action(async (options: CommonOptions & Omit<SmokeOptions, 'apiUrl'> & { apiUrl?: string }) => {
      const apiUrl = apiUrlOf(options);
      if (!options.deep && options.skip.length > 0) throw new OperatorError('--skip needs --deep');
      let result: SmokeResult | undefined;
      await run(
        options,
        async (functions) => {
          result = await smoke(functions, { ...options, apiUrl }, progress);
          return result;
        },
        smokeText,
      );
      const failed = (result?.steps ?? []).filter(({ state }) => state === 'failed');
      if (failed.length > 0) throw new OperatorError(`failed: ${failed.map(({ name }) => name).join(', ')}`);
    });
}

function addSkip(text: string, all: readonly DeepStepName[]): readonly DeepStepName[] {
  const step = DEEP_STEPS.find((name) => name === text);
  if (step === undefined) throw new InvalidArgumentError(`Give one of ${DEEP_STEPS.join(', ')}.`);
  return [...all, step];
}

function smokeText({ postMs, readableMs, drained, concurrency, steps = [] }: SmokeResult): string {
  const done = `posted in ${postMs} ms, read from memory after ${readableMs} ms, drained ${drained} group-windows, read from the warm tier`;
  const rows = steps.map(({ name, state, ms, saw }) => [name, state, `${(ms / 1000).toFixed(1)} s`, saw]);
  return [
    done,
    ...concurrencyProblem(concurrency),
    ...(rows.length > 0 ? ['', table(['step', 'state', 'time', 'saw'], rows)] : []),
  ].join('\n');
}

/** Returns a sentence if the account's quota differs from the stage's setting; otherwise an empty list. */
export function concurrencyProblem(concurrency: SmokeResult['concurrency']): string[] {
  if (concurrency === undefined || concurrency.account === concurrency.stage) return [];
  const { account, stage } = concurrency;
  const remedy =
    account < stage
      ? `ask AWS for more (quota L-B99A9384 of Lambda), or deploy with -c accountConcurrency=${account}`
      : `deploy with -c accountConcurrency=${account}`;
  return [
    `The account runs ${account} functions at a time, and the stage is deployed for ${stage}: ${remedy}, so that the alarm "concurrency" fits.`,
  ];
}

/**
 * Posts a sample as an agent does, reads it from memory, drains its partition, and reads it from the warm tier. Uses a
 * tenant, host and key of its own.
 *
 * @throws {OperatorError} naming the step that failed. Steps of a deep test do not throw; the result describes them
 */
async function smoke(
  functions: Functions,
  options: SmokeOptions & Pick<CommonOptions, 'stack'>,
  progress: (line: string) => void,
): Promise<SmokeResult> {
  const startedMs = Date.now();
  await functions.invoke('operator', { command: 'tenants create', name: SMOKE_TENANT, partitions: 1 });
  const lifetimeMs = options.deep ? DEEP_KEY_LIFETIME_MS : KEY_LIFETIME_MS;
  const own = { tenant: SMOKE_TENANT, rights: ['read', 'write'], lifetimeMs } as const;
  return withCommandKey(functions, own, async (key) => {
    const api = new TenantApi(options.apiUrl, key);
    const { result, sample } = await pass(functions, api, options, progress);
    if (!options.deep) return result;
    const deep = { skips: options.skip, sample, startedMs, patience: options.patience };
    const steps = await withAccount(options.stack, progress, (account) =>
      deepSteps(functions, api, { ...deep, account }, progress),
    );
    return { ...result, steps };
  });
}

/** Runs work with clients for a stack's AWS account, or with undefined for a local stack. */
async function withAccount<T>(
  stack: string | undefined,
  progress: (line: string) => void,
  work: (account: DeepAccount | undefined) => Promise<T>,
): Promise<T> {
  if (stack === undefined) return work(undefined);
  const [{ StageCache }, { CloudWatch }, { restoreTable }] = await Promise.all([
    import('./elasticache'),
    import('./cloudwatch'),
    import('./restore-table'),
  ]);
  const name = stageName(stageOf(stack));
  const cache = new StageCache(stack);
  const cloudWatch = new CloudWatch();
  try {
    const restore: DeepAccount['restore'] = (source, target) => restoreTable(source, target, progress);
    return await work({ stack: name, cache, cloudWatch, restore });
  } finally {
    cache.close();
    cloudWatch.close();
  }
}

async function pass(
  functions: Functions,
  api: TenantApi,
  { patience }: SmokeOptions,
  progress: (line: string) => void,
): Promise<{ readonly result: SmokeResult; readonly sample: SmokeSample }> {
  const hostId = await untilAnswered(() => hostOf(api));
  const value = Math.round(Math.random() * 1e9) / 1e3;
  const time = Math.floor(Date.now() / 1000);
  const sample = { hostId, name: SMOKE_METRIC, time, value };

  const posting = Date.now();
  await untilAnswered(() => api.json('POST', '/api/v0/tsdb', [sample]));
  const posted = Date.now();
  progress(`posted ${value} to host ${hostId} of tenant ${SMOKE_TENANT} in ${posted - posting} ms`);

  const before = await untilRead(api, sample, posted + patience);
  const readableMs = Date.now() - posted;
  progress(`read it back after ${readableMs} ms`);

  const { windows } = await drain(functions, progress, { tenant: SMOKE_TENANT, id: hostId });
  progress(`drained ${windows} group-windows`);
  const after = await untilRead(api, sample, Date.now() + patience);
  if (after.warm === 0)
    throw new OperatorError(`after the drain the sample is not in the warm tier: ${JSON.stringify(after)}`);
  const result = {
    hostId,
    postMs: posted - posting,
    readableMs,
    drained: windows,
    tiers: { before, after },
    concurrency: await concurrencyOf(functions, progress),
  };
  return { result, sample };
}

/**
 * Returns the account's quota of concurrent executions, and the quota that the stage assumes. The test has succeeded at
 * this point, so if the permission to read the quota is missing, that is only reported.
 */
async function concurrencyOf(
  functions: Functions,
  progress: (line: string) => void,
): Promise<SmokeResult['concurrency']> {
  try {
    const account = await functions.accountConcurrency();
    if (account === undefined) return undefined;
    const { accountConcurrency } = await functions.invoke<StageDescription>('operator', { command: 'stage' });
    return { account, stage: accountConcurrency };
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    progress(`the account's quota of concurrent executions is not known: ${error.message}`);
    return undefined;
  }
}

async function hostOf(api: TenantApi): Promise<string> {
  const { hosts } = await api.json<{ hosts: { id: string }[] }>(
    'GET',
    `/api/v0/hosts?customIdentifier=${CUSTOM_IDENTIFIER}`,
  );
  return hosts[0]?.id ?? (await api.createHost(CUSTOM_IDENTIFIER, { customIdentifier: CUSTOM_IDENTIFIER }));
}
