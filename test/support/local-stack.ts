import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DEPLOY_PATH } from '../../scripts/local/deploy';
import { readSecret } from '../../scripts/local/operator-secret';
import type { StackAddresses } from '../../scripts/local/stack';
import { spawnScript } from './script';
import { temporaryDir } from './temporary-dir';
import { until } from './until';

/**
 * Settings that several test files share. In a checkout, each combination is synthesized only once, since that takes 2
 * s of CPU, longer than starting a stack.
 */
export const SHARED_SETTINGS = {
  /** A service `shop`. */
  shop: { services: 'shop' },
  /** Windows that end during a test, samples at any second, and two shards. */
  shortWindows: { window: '10m', resolution: '1s', streamShards: '2' },
  /** Limits that no test reaches. */
  unlimited: { resolution: '1s', maxSamplesPerMinute: '1000000000', maxSeries: '10000000' },
  /** Posts of samples up to three days old, and imports of two years. */
  oldSamples: { maxSampleAge: '3d', retention: '800d' },
  /** Tenants that are drained and archived quickly, since they have few partitions. */
  fewPartitions: { partitions: '2' },
  /** A tenant whose records are in four shards. */
  fourShards: { partitions: '4', streamShards: '4', resolution: '1s' },
  /** Topics to notify, and limits of rules that are low enough for a test to reach. */
  notifying: {
    services: 'shop',
    maxRulesPerGroup: '4',
    maxRuleGroups: '3',
    alertTopics: 'arn:aws:sns:us-east-1:000000000000:alerts',
    mailTopic: 'arn:aws:sns:us-east-1:000000000000:mails',
  },
  /** Posts use a separate address, and receivers may not be in private networks. */
  exposed: { services: 'shop', privateReceivers: 'off', postEndpoint: 'url', postConcurrency: '100' },
} as const;

export interface LocalStack extends StackAddresses {
  readonly dataDir: string;
  /** Headers of a request to an endpoint outside the public API. */
  readonly operatorHeaders: Readonly<Record<string, string>>;
  /**
   * Deploys this checkout as it is now, while everything runs.
   *
   * @param functions kinds such as `ingester`; default: all
   */
  deploy(functions?: readonly string[]): Promise<void>;
  /**
   * Sends SIGKILL to every process of every function. Resolves once the stack has noticed, so that its next calls get
   * new instances.
   */
  killFunctions(): Promise<void>;
  /** Sends SIGKILL to the hot tier's server. */
  killHot(): void;
  stop(): Promise<void>;
}

/** Starts the whole pipeline as `npm start` does, on free ports, with its own data directory. */
export async function startLocalStack(options: {
  readonly settings?: Readonly<Record<string, string>>;
  /** @default a free port */
  readonly port?: number;
  /** Data of an earlier stack, which is kept at the end. @default a new folder, which is removed at the end */
  readonly dataDir?: string;
  /**
   * Whether the stack uses AWS's freedoms (freedoms.py). A request may then be answered with 503, so that the
   * client has to send it again. @default false
   */
  readonly hasFreedoms?: boolean;
  /**
   * Kinds of functions that the schedule does not run; the test runs them itself. For example, a test that evaluates
   * future ticks turns off the evaluator's schedule: a run at the present time would take the future ticks for those of
   * a wrong clock. @default none
   */
  readonly unscheduled?: readonly ('evaluator' | 'recovery')[];
}): Promise<LocalStack> {
  const dataDir = options.dataDir ?? temporaryDir();
  const settings = Object.entries(options.settings ?? {}).flatMap(([key, value]) => [
    '--set',
    `${key}=${value}`,
  ]);
  // Jest gives each test file a copy of the variables. Use this copy, which has the changes that the file made.
  const env = {
    ...process.env,
    FREEDOMS: options.hasFreedoms ? 'on' : 'off',
    ...(options.unscheduled && { UNSCHEDULED: options.unscheduled.join(',') }),
  };
  const child = spawnScript(
    'start',
    ['--json', '--no-demo', '--port', String(options.port ?? 0), '--data-dir', dataDir, ...settings],
    { env },
  );
  let errors = '';
  child.stderr!.on('data', (chunk) => {
    errors += chunk;
  });
  const gone = once(child, 'exit');
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout! }), 'line'),
    gone.then(([code]) => {
      throw new Error(`the stack ended with ${code}: ${errors}`);
    }),
  ])) as [string];
  const addresses = JSON.parse(line) as StackAddresses;
  const operatorHeaders = { authorization: `Bearer ${readSecret(addresses.url)}` };
  const pids = () =>
    JSON.parse(readFileSync(join(dataDir, 'pids.json'), 'utf8')) as { hot: number; functions: number[] };
  return {
    ...addresses,
    dataDir,
    operatorHeaders,
    deploy: async (functions) => {
      const response = await fetch(new URL(DEPLOY_PATH, addresses.url), {
        method: 'POST',
        headers: { ...operatorHeaders, 'content-type': 'application/json' },
        body: JSON.stringify({ functions }),
      });
      if (!response.ok) throw new Error(`not deployed: ${response.status} ${await response.text()}`);
    },
    killFunctions: async () => {
      const killed = pids().functions;
      killed.forEach(kill);
      await until(
        'the stack has noticed the ends of its functions',
        async () => pids().functions.filter((pid) => killed.includes(pid)),
        (noticed) => noticed.length === 0,
      );
    },
    killHot: () => kill(pids().hot),
    stop: async () => {
      child.kill('SIGTERM');
      await gone;
      // The functions' instances were told to end. On a busy machine, one of them may still be writing its last lines.
      if (options.dataDir === undefined)
        rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
    },
  };
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Ignore the error: the process has ended already.
  }
}
