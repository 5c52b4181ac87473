import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import type { StageDescription } from '../../shared/operations/stage-command';
import { apiUrlOf, apiUrlOption } from './api-url';
import { type CommonOptions, command, progress, run } from './command';
import { drain } from './drain';
import { type Functions, OperatorError } from './invoke';
import { parseDurationOption } from './option-values';

export interface SmokeOptions {
  /** Address of the HTTP API. */
  readonly apiUrl: string;
  /** Most time until a posted sample can be read, in ms. */
  readonly patience: number;
}

export interface SmokeResult {
  readonly hostId: string;
  readonly postMs: number;
  /** Time from the answer to the post until a read returned the sample. */
  readonly readableMs: number;
  /** Number of group-windows that the drain moved. */
  readonly drained: number;
  /** Samples returned by each tier before and after the drain. */
  readonly tiers: { readonly before: Readonly<Tiers>; readonly after: Readonly<Tiers> };
  /** Concurrent executions: the account's quota and the stage's setting; undefined for a local stack. */
  readonly concurrency: { readonly account: number; readonly stage: number } | undefined;
}

interface Tiers {
  hot: number;
  warm: number;
  cold: number;
}

/** Smoke tests use their own tenant, so that they leave nothing in users' lists and usage. */
export const SMOKE_TENANT = 'smoke';
/**
 * Lifetime of a smoke test's key, in ms. The key is revoked at the end; the lifetime matters only if the test
 * is killed.
 */
const KEY_LIFETIME_MS = 15 * 60_000;
/** All smoke tests share one host, with this custom identifier. */
const CUSTOM_IDENTIFIER = 'heterotsdb-smoke';
const METRIC = 'custom.smoke';
const LOOK_MS = 250;

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
    .action((options: CommonOptions & Omit<SmokeOptions, 'apiUrl'> & { apiUrl?: string }) => {
      const apiUrl = apiUrlOf(options);
      return run(options, (functions) => smoke(functions, { ...options, apiUrl }, progress), smokeText);
    });
}

function smokeText({ postMs, readableMs, drained, concurrency }: SmokeResult): string {
  const done = `posted in ${postMs} ms, read from memory after ${readableMs} ms, drained ${drained} group-windows, read from the warm tier`;
  return [done, ...concurrencyProblem(concurrency)].join('\n');
}

/** Returns a sentence if the account's quota differs from the stage's setting. */
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
 * Posts a sample as an agent does, reads it from memory, drains its partition, and reads it from the warm
 * tier. Uses its own tenant, host and key.
 *
 * @throws {OperatorError} naming the step that failed
 */
export async function smoke(
  functions: Functions,
  options: SmokeOptions,
  progress: (line: string) => void,
): Promise<SmokeResult> {
  await functions.invoke('operator', { command: 'tenants create', name: SMOKE_TENANT, partitions: 1 });
  const { key, publicId } = await functions.invoke<{ key: string; publicId: string }>('operator', {
    command: 'keys create',
    tenant: SMOKE_TENANT,
    rights: ['read', 'write'],
    expiresAt: Date.now() + KEY_LIFETIME_MS,
  });
  try {
    return await pass(functions, new Api(options.apiUrl, key), options, progress);
  } finally {
    await functions.invoke('operator', { command: 'keys revoke', id: publicId });
  }
}

async function pass(
  functions: Functions,
  api: Api,
  { patience }: SmokeOptions,
  progress: (line: string) => void,
): Promise<SmokeResult> {
  const hostId = await hostOf(api);
  const value = Math.round(Math.random() * 1e9) / 1e3;
  const time = Math.floor(Date.now() / 1000);

  const posting = Date.now();
  await api.call('POST', '/api/v0/tsdb', [{ hostId, name: METRIC, time, value }]);
  const posted = Date.now();
  progress(`posted ${value} to host ${hostId} of tenant ${SMOKE_TENANT} in ${posted - posting} ms`);

  const before = await api.until(hostId, time, value, posted + patience);
  const readableMs = Date.now() - posted;
  progress(`read it back after ${readableMs} ms`);

  const { windows } = await drain(functions, progress, { tenant: SMOKE_TENANT, id: hostId });
  progress(`drained ${windows} group-windows`);
  const after = await api.until(hostId, time, value, Date.now() + patience);
  if (after.warm === 0)
    throw new OperatorError(`after the drain the sample is not in the warm tier: ${JSON.stringify(after)}`);
  return {
    hostId,
    postMs: posted - posting,
    readableMs,
    drained: windows,
    tiers: { before, after },
    concurrency: await concurrencyOf(functions, progress),
  };
}

/** The test has succeeded at this point, so a missing permission to read the quota is only reported. */
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

async function hostOf(api: Api): Promise<string> {
  const spec = { name: CUSTOM_IDENTIFIER, meta: {}, customIdentifier: CUSTOM_IDENTIFIER };
  const { hosts } = await api.call<{ hosts: { id: string }[] }>(
    'GET',
    `/api/v0/hosts?customIdentifier=${CUSTOM_IDENTIFIER}`,
  );
  return hosts[0]?.id ?? (await api.call<{ id: string }>('POST', '/api/v0/hosts', spec)).id;
}

class Api {
  constructor(
    private readonly url: string,
    private readonly key: string,
  ) {}

  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const { text } = await this.request(method, path, body);
    return JSON.parse(text) as T;
  }

  /**
   * Reads until the sample is returned.
   *
   * @returns number of samples returned by each tier
   */
  async until(hostId: string, time: number, value: number, deadlineMs: number): Promise<Tiers> {
    // Start a minute earlier, because sample times are rounded down.
    const path = `/api/v0/hosts/${hostId}/metrics?name=${METRIC}&from=${time - 60}&to=${time}`;
    for (;;) {
      let seen: string;
      try {
        const { text, timing } = await this.request('GET', path, undefined, [404]);
        const { metrics = [] } = JSON.parse(text) as { metrics?: { value: number }[] };
        if (metrics.some((sample) => sample.value === value)) return tiersOf(timing);
        seen = text.slice(0, 300);
      } catch (error) {
        // The first read may time out while functions start.
        if (!(error instanceof OperatorError)) throw error;
        seen = error.message;
      }
      if (Date.now() > deadlineMs) throw new OperatorError(`the sample cannot be read: ${seen}`);
      await sleep(LOOK_MS);
    }
  }

  /**
   * @throws {OperatorError} on a status that is neither 2xx nor allowed
   */
  private async request(method: string, path: string, body: unknown, allowed: readonly number[] = []) {
    let response: Response;
    try {
      response = await fetch(new URL(path, this.url), {
        method,
        headers: { 'x-api-key': this.key, 'content-type': 'application/json' },
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: AbortSignal.timeout(30_000),
      });
    } catch (cause) {
      throw new OperatorError(`no answer from ${this.url}: ${(cause as Error).message}`, { cause });
    }
    const text = await response.text();
    if (!response.ok && !allowed.includes(response.status))
      throw new OperatorError(`${method} ${path} answers ${response.status}: ${text.slice(0, 300)}`);
    return { text, timing: response.headers.get('server-timing') ?? '' };
  }
}

/** Parses a Server-Timing header: `hot;dur=1.2;desc="3 samples", ...`. */
function tiersOf(timing: string): Tiers {
  const of = (tier: string) => Number(new RegExp(`${tier};[^,]*desc="(\\d+) samples`).exec(timing)?.[1] ?? 0);
  return { hot: of('hot'), warm: of('warm'), cold: of('cold') };
}
