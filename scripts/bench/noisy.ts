import { Command } from 'commander';
import { startStack } from '../local/stack';
import { Functions } from '../ops/invoke';
import { quantile } from './quantile';

interface NoisyOptions {
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

/**
 * Measures how long a tenant's posts take while another tenant sends far beyond its limit: in turns without and with the
 * other, because the machine is not steady. Both share two instances of post; Lambda would give each request its own.
 */
export async function benchNoisy(args: string[]): Promise<void> {
  const program = new Command('noisy')
    .description("p99 of a tenant's posts while another tenant exceeds its limit")
    .option('--posts <n>', 'posts of the quiet tenant in a turn', Number, 100)
    .option('--times <n>', "the noisy tenant's samples a minute, as a multiple of its limit", Number, 10)
    .option('--rounds <n>', 'turns without and with the noisy tenant', Number, 30)
    .option('--json', 'one object on stdout, as the last line')
    .parse(args, { from: 'user' });
  const { posts, times, rounds, json } = program.opts<NoisyOptions>();
  const rate = (times * NOISY_LIMIT) / NOISY_SAMPLES / 60;
  const stack = await startStack({ port: 0, dataDir: undefined, settings: {}, report: () => {} });
  const functions = new Functions(stack.addresses.url);
  try {
    const quiet = await tenantOf(stack.addresses.url, functions, 'quiet', {});
    const noisy = await tenantOf(stack.addresses.url, functions, 'noisy', { samplesPerMinute: NOISY_LIMIT });
    const alone: number[] = [];
    const beside: number[] = [];
    let refused = 0;
    let sent = 0;
    await timed(quiet, 50);
    for (let round = 0; round < rounds; round++) {
      alone.push(...(await timed(quiet, posts)));
      const noise: Promise<unknown>[] = [];
      const timer = setInterval(() => {
        sent++;
        noise.push(
          noisy.post(NOISY_SAMPLES).then((status) => {
            if (status === 429) refused++;
          }),
        );
      }, 1000 / rate);
      beside.push(...(await timed(quiet, posts)));
      clearInterval(timer);
      await Promise.all(noise);
    }
    const of = (durations: number[]) => ({
      p50Ms: quantile(durations, 0.5),
      p99Ms: quantile(durations, 0.99),
    });
    const result = { times, sent, refused, alone: of(alone), beside: of(beside) };
    const text = ({ p50Ms, p99Ms }: ReturnType<typeof of>) =>
      `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`;
    console.log(`alone:             ${text(result.alone)}`);
    console.log(`beside the noisy:  ${text(result.beside)}`);
    console.log(
      `${sent} posts of ${NOISY_SAMPLES} samples, ${rate.toFixed(1)} a second, ${refused} refused; ` +
        `p99 is ${(result.beside.p99Ms / result.alone.p99Ms).toFixed(2)} times that alone`,
    );
    if (json) process.stdout.write(`${JSON.stringify(result)}\n`);
  } finally {
    functions.close();
    await stack.stop();
  }
}

interface Sender {
  /** @returns the status of the answer */
  post(samples: number): Promise<number>;
}

async function timed(sender: Sender, posts: number): Promise<number[]> {
  const durations: number[] = [];
  for (let i = 0; i < posts; i++) {
    const startedMs = performance.now();
    const status = await sender.post(QUIET_SAMPLES);
    if (status !== 200) throw new Error(`a post of the quiet tenant was answered ${status}`);
    durations.push(performance.now() - startedMs);
  }
  return durations;
}

async function tenantOf(
  url: string,
  functions: Functions,
  name: string,
  limits: Record<string, number>,
): Promise<Sender> {
  await functions.invoke('operator', { command: 'tenants create', name });
  await functions.invoke('operator', { command: 'tenants set', name, limits });
  const rights = ['read', 'write'];
  const { key } = await functions.invoke<{ key: string }>('operator', {
    command: 'keys create',
    tenant: name,
    rights,
  });
  const send = async (path: string, body: string) => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body });
    return { status: response.status, body: (await response.json()) as { id?: string } };
  };
  const hostId = (await send('/api/v0/hosts', JSON.stringify({ name: 'web1', meta: {} }))).body.id;
  const time = Math.floor(Date.now() / 1000);
  // Made once: the client's own CPU is not measured.
  const bodies = new Map<number, string>();
  const bodyOf = (samples: number) => {
    const points = Array.from({ length: samples }, (_, i) => ({
      hostId,
      name: `custom.m${i}`,
      time,
      value: i,
    }));
    return JSON.stringify(points);
  };
  return {
    post: async (samples) => {
      const body = bodies.get(samples) ?? bodyOf(samples);
      bodies.set(samples, body);
      return (await send('/api/v0/tsdb', body)).status;
    },
  };
}
