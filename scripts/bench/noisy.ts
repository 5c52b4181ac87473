import { Command } from 'commander';
import { startStack } from '../local/stack';
import { Functions } from '../ops/invoke';
import { quantile } from './quantile';

interface NoisyOptions {
  readonly posts: number;
  readonly rate: number;
  readonly rounds: number;
}

/** Samples of a quiet tenant's post, and of a noisy one's. */
const QUIET_SAMPLES = 30;
const NOISY_SAMPLES = 500;
/** What the noisy tenant may send: it is beyond it at once. */
const NOISY_LIMIT = 10_000;

/**
 * How long a tenant's posts take while another sends far beyond its limit. In turns without and with the other, since the
 * machine itself is not steady. Here both share two instances of post, where Lambda would give each request its own.
 */
export async function benchNoisy(args: string[]): Promise<void> {
  const program = new Command('noisy')
    .description('p99 of a tenant while another exceeds its limit')
    .option('--posts <n>', 'of the quiet tenant in a turn', Number, 300)
    .option('--rate <n>', 'posts a second of the noisy tenant', Number, 20)
    .option('--rounds <n>', 'turns without and with the noisy tenant', Number, 3)
    .parse(args, { from: 'user' });
  const { posts, rate, rounds } = program.opts<NoisyOptions>();
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
    const [before, after] = [quantile(alone, 0.99), quantile(beside, 0.99)];
    console.log(`alone:             p50 ${quantile(alone, 0.5).toFixed(1)} ms, p99 ${before.toFixed(1)} ms`);
    console.log(`beside the noisy:  p50 ${quantile(beside, 0.5).toFixed(1)} ms, p99 ${after.toFixed(1)} ms`);
    console.log(
      `${sent} posts of ${NOISY_SAMPLES} samples, ${rate} a second, ${refused} refused; p99 is ${(after / before).toFixed(2)} times`,
    );
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
  // Made once: what a client does with its own processor is not what is measured.
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
