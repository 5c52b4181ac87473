import { setTimeout as sleep } from 'node:timers/promises';
import { Command, Option } from 'commander';
import { startStack } from '../local/stack';
import { Functions } from '../ops/invoke';
import { quantile } from './quantile';

interface NoisyOptions {
  readonly noise: Noise;
  readonly posts: number;
  readonly times: number;
  readonly rounds: number;
  readonly json?: boolean;
}

/** Samples of a post: the quiet tenant's, and the noisy one's. */
const QUIET_SAMPLES = 30;
const NOISY_SAMPLES = 500;
/** Samples a minute that the noisy tenant may send: it exceeds them at once. */
const NOISY_LIMIT = 10_000;

type Send = () => Promise<Response>;

/** What the noisy tenant does. */
interface NoiseKind {
  readonly limits: Readonly<Record<string, number>>;
  /** What is timed of the quiet tenant. */
  readonly quiet: 'post' | 'read';
  /** Prepares the tenant. @returns what it sends again and again */
  readonly start: (tenant: BenchTenant) => Promise<Send>;
}

const NOISES = {
  /** Valid samples beyond its limit. */
  samples: {
    limits: { samplesPerMinute: NOISY_LIMIT },
    quiet: 'post',
    start: async (tenant) => {
      const body = tenant.samples(NOISY_SAMPLES);
      return () => tenant.post('/api/v0/tsdb', body);
    },
  },
  /** In turns samples that are too old, and bodies that are no JSON. */
  refused: {
    limits: { samplesPerMinute: NOISY_LIMIT / 10 },
    quiet: 'post',
    start: async (tenant) => {
      const old = tenant.samples(NOISY_SAMPLES, 1);
      const bodies = [old, `${old.slice(0, -1)},`];
      let sent = 0;
      return () => tenant.post('/api/v0/tsdb', bodies[sent++ % bodies.length]!);
    },
  },
  /** Samples of ever new sources, at the limit of series. */
  series: {
    limits: { samplesPerMinute: 1_000_000, series: 1 },
    quiet: 'post',
    start: async (tenant) => {
      let made = 0;
      const fresh = () => {
        const lines = Array.from({ length: NOISY_SAMPLES }, () => `a,host=new${made++} value=1`);
        return tenant.post('/write', lines.join('\n'));
      };
      // Instances look every 30 s whether the tenant is at its limit.
      while ((await fresh()).status !== 429) await sleep(1000);
      return fresh;
    },
  },
  /** Queries that keep an instance busy for some tenths of a second. */
  reads: {
    limits: { querySecondsPerMinute: 1, queriesAtOnce: 1 },
    quiet: 'read',
    start: async (tenant) => {
      const query = encodeURIComponent('quantile_over_time(0.5, vector(1)[6h:4s])');
      return () => tenant.get(`/prometheus/api/v1/query_range?query=${query}&start=0&end=6000&step=10`);
    },
  },
} as const satisfies Record<string, NoiseKind>;
type Noise = keyof typeof NOISES;

/**
 * Measures how long a tenant's requests take while another tenant sends far beyond its limit: in turns without and with the
 * other, because the machine is not steady. Both share two instances of the function; Lambda would give each request its own.
 */
export async function benchNoisy(args: string[]): Promise<void> {
  const program = new Command('noisy')
    .description("p99 of a tenant's requests while another tenant exceeds its limit")
    .addOption(
      new Option('--noise <kind>', 'what the noisy tenant sends')
        .choices(Object.keys(NOISES))
        .default('samples'),
    )
    .option('--posts <n>', 'requests of the quiet tenant in a turn', Number, 100)
    .option('--times <n>', "the noisy tenant's samples a minute, as a multiple of its limit", Number, 10)
    .option('--rounds <n>', 'turns without and with the noisy tenant', Number, 30)
    .option('--json', 'one object on stdout, as the last line')
    .parse(args, { from: 'user' });
  const { noise, posts, times, rounds, json } = program.opts<NoisyOptions>();
  const kind: NoiseKind = NOISES[noise];
  const rate = (times * NOISY_LIMIT) / NOISY_SAMPLES / 60;
  const stack = await startStack({ port: 0, dataDir: undefined, settings: {}, report: () => {} });
  const functions = new Functions(stack.addresses.url);
  try {
    const quiet = await BenchTenant.create(stack.addresses.url, functions, 'quiet', {});
    const noisy = await BenchTenant.create(stack.addresses.url, functions, 'noisy', kind.limits);
    const body = quiet.samples(QUIET_SAMPLES);
    await timed(() => quiet.post('/api/v0/tsdb', body), 1);
    const send: Send =
      kind.quiet === 'post' ? () => quiet.post('/api/v0/tsdb', body) : () => quiet.get(quiet.graph);
    // A first sample can be read after a second or two.
    while ((await send()).status === 404) await sleep(100);
    await timed(send, 50);
    const disturb = await kind.start(noisy);
    const [alone, beside]: [number[], number[]] = [[], []];
    const statuses = new Map<number, number>();
    for (let round = 0; round < rounds; round++) {
      alone.push(...(await timed(send, posts)));
      const sent: Promise<unknown>[] = [];
      const timer = setInterval(() => {
        sent.push(
          disturb().then(({ status }) => {
            statuses.set(status, (statuses.get(status) ?? 0) + 1);
          }),
        );
      }, 1000 / rate);
      beside.push(...(await timed(send, posts)));
      clearInterval(timer);
      await Promise.all(sent);
    }
    const of = (durations: number[]) => ({
      p50Ms: quantile(durations, 0.5),
      p99Ms: quantile(durations, 0.99),
    });
    const result = {
      noise,
      times,
      answers: Object.fromEntries(statuses),
      alone: of(alone),
      beside: of(beside),
    };
    const text = ({ p50Ms, p99Ms }: ReturnType<typeof of>) =>
      `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`;
    console.log(`${kind.quiet}s alone:             ${text(result.alone)}`);
    console.log(`${kind.quiet}s beside the noisy:  ${text(result.beside)}`);
    const answers = [...statuses].map(([status, count]) => `${count} times ${status}`).join(', ');
    console.log(
      `noise ${noise}, ${rate.toFixed(1)} requests a second, answered ${answers}; ` +
        `p99 is ${(result.beside.p99Ms / result.alone.p99Ms).toFixed(2)} times that alone`,
    );
    if (json) process.stdout.write(`${JSON.stringify(result)}\n`);
  } finally {
    functions.close();
    await stack.stop();
  }
}

async function timed(send: Send, requests: number): Promise<number[]> {
  const durations: number[] = [];
  for (let i = 0; i < requests; i++) {
    const startedMs = performance.now();
    const { status } = await send();
    if (status !== 200) throw new Error(`a request of the quiet tenant was answered ${status}`);
    durations.push(performance.now() - startedMs);
  }
  return durations;
}

/** A tenant with one host, and a key that may read and write. */
class BenchTenant {
  private constructor(
    private readonly url: string,
    private readonly key: string,
    private readonly hostId: string,
  ) {}

  static async create(
    url: string,
    functions: Functions,
    name: string,
    limits: Readonly<Record<string, number>>,
  ): Promise<BenchTenant> {
    await functions.invoke('operator', { command: 'tenants create', name });
    await functions.invoke('operator', { command: 'tenants set', name, limits });
    const rights = ['read', 'write'];
    const { key } = await functions.invoke<{ key: string }>('operator', {
      command: 'keys create',
      tenant: name,
      rights,
    });
    const response = await fetch(`${url}/api/v0/hosts`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'web1', meta: {} }),
    });
    return new BenchTenant(url, key, ((await response.json()) as { id: string }).id);
  }

  /** The path of a graph of the host's first metric, of an hour. */
  get graph(): string {
    const now = Math.floor(Date.now() / 1000);
    return `/api/v0/hosts/${this.hostId}/metrics?name=custom.m0&from=${now - 3600}&to=${now}`;
  }

  /** A body of samples. Made once, so that the client's own CPU is not measured. */
  samples(count: number, time = Math.floor(Date.now() / 1000)): string {
    const { hostId } = this;
    return JSON.stringify(
      Array.from({ length: count }, (_, i) => ({ hostId, name: `custom.m${i}`, time, value: i })),
    );
  }

  async post(path: string, body: string): Promise<Response> {
    return this.request(path, { method: 'POST', body });
  }

  async get(path: string): Promise<Response> {
    return this.request(path, {});
  }

  private async request(path: string, init: RequestInit): Promise<Response> {
    const headers = { 'x-api-key': this.key, 'content-type': 'application/json' };
    const response = await fetch(`${this.url}${path}`, { ...init, headers });
    await response.arrayBuffer();
    return response;
  }
}
