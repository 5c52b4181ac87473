import { setTimeout as sleep } from 'node:timers/promises';
import { HttpClient } from '../local/http-client';
import { createTenant } from '../ops/create-tenant';
import type { Functions } from '../ops/invoke';
import { bench } from './frame/bench';
import { choice, count, number } from './frame/options';
import { quantile } from './frame/quantile';
import { startBenchStack } from './frame/stack';

/** Samples per post of the quiet tenant and of the noisy one. */
const QUIET_SAMPLES = 30;
const NOISY_SAMPLES = 500;
/** The noisy tenant's limit of samples per minute, which it exceeds at once. */
const NOISY_LIMIT = 10_000;

/**
 * Sends a request.
 *
 * @returns its status
 */
type Send = () => Promise<number>;

/** A kind of noise made by the noisy tenant. */
interface NoiseKind {
  readonly limits: Readonly<Record<string, number>>;
  /** Which requests of the quiet tenant are timed. */
  readonly quiet: 'post' | 'read';
  /**
   * Prepares the noisy tenant.
   *
   * @returns the request that it repeats
   */
  readonly start: (tenant: BenchTenant) => Promise<Send>;
}

const NOISES = {
  /** Valid samples beyond the tenant's limit. */
  samples: {
    limits: { samplesPerMinute: NOISY_LIMIT },
    quiet: 'post',
    start: async (tenant) => tenant.sending('/api/v0/tsdb', tenant.samples(NOISY_SAMPLES)),
  },
  /** Alternates between too old samples and bodies that are not JSON. */
  refused: {
    limits: { samplesPerMinute: NOISY_LIMIT / 10 },
    quiet: 'post',
    start: async (tenant) => {
      const old = tenant.samples(NOISY_SAMPLES, 1);
      const sends = [old, `${old.slice(0, -1)},`].map((body) => tenant.sending('/api/v0/tsdb', body));
      let sent = 0;
      return () => sends[sent++ % sends.length]!();
    },
  },
  /** Samples of new sources without end, at the limit of series. */
  series: {
    limits: { samplesPerMinute: 1_000_000, series: 1 },
    quiet: 'post',
    start: async (tenant) => {
      let made = 0;
      const fresh = () => {
        const lines = Array.from({ length: NOISY_SAMPLES }, () => `a,host=new${made++} value=1`);
        return tenant.sending('/write', lines.join('\n'))();
      };
      // Instances check every 30 s whether the tenant is at its limit.
      while ((await fresh()) !== 429) await sleep(1000);
      return fresh;
    },
  },
  /** Queries that keep an instance busy for a few tenths of a second. */
  reads: {
    limits: { querySecondsPerMinute: 1, queriesAtOnce: 1 },
    quiet: 'read',
    start: async (tenant) => {
      const query = encodeURIComponent('quantile_over_time(0.5, vector(1)[6h:4s])');
      return tenant.sending(`/prometheus/api/v1/query_range?query=${query}&start=0&end=6000&step=10`);
    },
  },
} as const satisfies Record<string, NoiseKind>;
const NOISE_NAMES = Object.keys(NOISES) as (keyof typeof NOISES)[];

export const noisy = bench({
  name: 'noisy',
  summary: "p99 of a tenant's requests while another tenant exceeds its limit",
  description:
    "Measures a tenant's requests while another tenant far exceeds its limit, alternately with and without the other tenant, because " +
    'the speed of the machine varies. Both tenants share two instances of the function; Lambda would give each request its own.',
  options: {
    noise: choice('what the noisy tenant sends', NOISE_NAMES, 'samples'),
    posts: count('requests of the quiet tenant in a turn', 100),
    times: number("the noisy tenant's samples a minute, as a multiple of its limit", 10),
    rounds: count('turns without and with the noisy tenant', 30),
  },
  run: async ({ noise, posts, times, rounds }, frame) => {
    const kind: NoiseKind = NOISES[noise];
    const requestsPerSecond = (times * NOISY_LIMIT) / NOISY_SAMPLES / 60;
    const { stack, functions } = await startBenchStack(frame);
    const quiet = await BenchTenant.create(stack.addresses.url, functions, 'quiet', {});
    const other = await BenchTenant.create(stack.addresses.url, functions, 'noisy', kind.limits);
    const post = quiet.sending('/api/v0/tsdb', quiet.samples(QUIET_SAMPLES));
    await post();
    const send = kind.quiet === 'post' ? post : () => quiet.sending(quiet.graph)();
    // The first sample takes a second or two to become readable.
    while ((await send()) === 404) await sleep(100);
    await timed(send, 50);
    const disturb = await kind.start(other);
    const [alone, beside]: [number[], number[]] = [[], []];
    const answers: Record<number, number> = {};
    for (let round = 0; round < rounds; round++) {
      alone.push(...(await timed(send, posts)));
      const sent: Promise<void>[] = [];
      const timer = setInterval(() => {
        sent.push(
          disturb().then((status) => {
            answers[status] = (answers[status] ?? 0) + 1;
          }),
        );
      }, 1000 / requestsPerSecond);
      beside.push(...(await timed(send, posts)));
      clearInterval(timer);
      await Promise.all(sent);
    }
    const of = (ms: readonly number[]) => ({ p50Ms: quantile(ms, 0.5), p99Ms: quantile(ms, 0.99) });
    return {
      noise,
      timed: `${kind.quiet}s`,
      times,
      requestsPerSecond,
      answers,
      alone: of(alone),
      beside: of(beside),
      p99Ratio: quantile(beside, 0.99) / quantile(alone, 0.99),
    };
  },
});

async function timed(send: Send, requests: number): Promise<number[]> {
  const durations: number[] = [];
  for (let i = 0; i < requests; i++) {
    const startedMs = performance.now();
    const status = await send();
    if (status !== 200) throw new Error(`a request of the quiet tenant was answered ${status}`);
    durations.push(performance.now() - startedMs);
  }
  return durations;
}

/** A tenant with one host and a key that may read and write. */
class BenchTenant {
  private constructor(
    private readonly client: HttpClient,
    private readonly hostId: string,
  ) {}

  static async create(url: string, functions: Functions, name: string, limits: object): Promise<BenchTenant> {
    const { key } = await createTenant(functions, name);
    await functions.invoke('operator', { command: 'tenants set', name, limits });
    const client = new HttpClient(url, key);
    return new BenchTenant(client, await client.createHost('web1'));
  }

  /** Path of an hour-long graph of the host's first metric. */
  get graph(): string {
    const now = Math.floor(Date.now() / 1000);
    return `/api/v0/hosts/${this.hostId}/metrics?name=custom.m0&from=${now - 3600}&to=${now}`;
  }

  /** Builds a body of samples. Build it once, so that the client's CPU is not measured. */
  samples(count: number, time = Math.floor(Date.now() / 1000)): string {
    const { hostId } = this;
    return JSON.stringify(
      Array.from({ length: count }, (_, i) => ({ hostId, name: `custom.m${i}`, time, value: i })),
    );
  }

  sending(path: string, body?: string): Send {
    return async () => (await this.client.send(path, body)).status;
  }
}
