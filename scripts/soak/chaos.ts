import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { HOUR_MS } from '../../shared/model/duration';
import type { Call, Fault } from '../faults/call';
import type { Faults, Rule } from '../faults/faults';
import { Random } from '../faults/random';
import { type FaultKind, type PlannedFault, SKEWED } from './plan';

export interface ChaosDependencies {
  readonly faults: Faults;
  /** A direct connection to the hot tier's server, bypassing the proxies. */
  readonly redis: Redis;
  /** Kills the hot tier's server with SIGKILL. */
  readonly killHot: () => void;
  /** Flushes all of memory. Resolves whether this succeeds or fails. */
  readonly drain: () => Promise<unknown>;
}

/** An active fault. */
interface Started {
  /** Returns the number of times that the fault had an effect. */
  hits(): number;
  /** Ends the fault. */
  end(): void | Promise<void>;
}

type Start = (dependencies: ChaosDependencies, random: Random) => Started | Promise<Started>;

const CUT_EVERY_MS = 50;
const LOOK_MS = 50;

const isToRedis = (call: Call) => call.store === 'redis';
const isChangeOfRedis = (call: Call) => isToRedis(call) && call.isChange;

/** Applies a fault to 30 % of the matching calls. */
function sometimes(
  { faults }: ChaosDependencies,
  random: Random,
  matches: (call: Call) => boolean,
  fault: () => Fault,
): Started {
  const rule: Rule = faults.rule({
    matches,
    fault: () => (random.chance(0.3) ? fault() : undefined),
  });
  return { hits: () => rule.hits, end: () => rule.lift() };
}

const ONCE: Started = { hits: () => 1, end: () => {} };

const STARTS: Record<FaultKind, Start> = {
  'connections cut': ({ faults }) => {
    let hits = 0;
    const timer = setInterval(() => {
      hits += faults.cutRedis();
    }, CUT_EVERY_MS);
    return { hits: () => hits, end: () => clearInterval(timer) };
  },
  'connections refused': ({ faults }) => {
    const refusal = faults.refuseRedis();
    return { hits: () => refusal.hits, end: () => refusal.lift() };
  },
  'script replies lost': (d, random) => sometimes(d, random, isChangeOfRedis, () => ({ kind: 'lose-reply' })),
  'Redis slow': (d, random) =>
    sometimes(d, random, isToRedis, () => ({ kind: 'delay', ms: random.integer(10, 400) })),
  'Redis killed': ({ killHot }) => {
    killHot();
    return ONCE;
  },
  'Redis wiped': async ({ redis }) => {
    await redis.flushall();
    return ONCE;
  },
  'Redis full': async ({ redis }) => {
    const used = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
    await redis.config('SET', 'maxmemory', used);
    return {
      hits: () => 1,
      // Ignore errors: if the server was killed during the fault, its replacement has no limit anyway.
      end: () => void redis.config('SET', 'maxmemory', 0).catch(() => {}),
    };
  },
  'lease expired in a flush': ({ faults, redis, drain }) => {
    const isMoving = ({ functionName, operation }: Call) =>
      functionName === 'flusher' && operation === 'PutItem warm';
    const rule = faults.pauseAt('after', isMoving, async () => {
      await expireLeases(redis);
      await drain();
    });
    return { hits: () => rule.hits, end: () => rule.lift() };
  },
  'clock skewed': ({ faults }, random) => {
    const skewMs = random.pick([-HOUR_MS, HOUR_MS]);
    const victim = random.pick(SKEWED);
    faults.clockSkewMs = (functionName) => (functionName === victim ? skewMs : 0);
    // Processes that replace the killed ones start with the wrong clock; those that start later have the right one
    // again.
    let hits = faults.kill(victim);
    return {
      hits: () => {
        // If the function had no process when the fault started, kill the process that runs now.
        hits ||= faults.kill(victim);
        return hits;
      },
      end: () => {
        faults.clockSkewMs = () => 0;
        faults.kill(victim);
      },
    };
  },
};

/**
 * Keeps a fault active for its planned duration, and for longer until it has had an effect.
 *
 * @returns the number of times that it had an effect
 */
export async function befall(
  dependencies: ChaosDependencies,
  planned: PlannedFault,
  isOver: () => boolean,
): Promise<number> {
  const started = await STARTS[planned.kind](dependencies, new Random(planned.seed));
  await sleep(planned.durationMs);
  while (started.hits() === 0 && !isOver()) await sleep(LOOK_MS);
  await started.end();
  return started.hits();
}

/**
 * Ends every lease now, as if it had expired. The store's own clock cannot be changed.
 *
 * KEYS  leases of a partition; fields are `token expiry takenAt`, see shared/platform/keys.ts
 */
const EXPIRE_LEASES = `
for i, value in ipairs(redis.call('HGETALL', KEYS[1])) do
  if i % 2 == 1 then
    local token, taken = string.match(redis.call('HGET', KEYS[1], value), '^(%S+) %d+ (%d+)$')
    redis.call('HSET', KEYS[1], value, token .. ' 1 ' .. taken)
  end
end
return 1
`;

export async function expireLeases(redis: Redis): Promise<void> {
  for (const key of await redis.keys('*:leases')) await redis.eval(EXPIRE_LEASES, 1, key);
}
