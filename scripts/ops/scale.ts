import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { MemoryWatch } from '../../shared/operations/memory-commands';
import { type CommonOptions, command, run } from './command';
import { drain } from './drain';
import type { Resharding } from './elasticache';
import { type Functions, OperatorError } from './invoke';
import { parseCount } from './option-values';
import { interruptibleSlices } from './signals';

export interface ScaleOptions {
  readonly shards: number;
  /** Whether memory is flushed before slots move. */
  readonly drains: boolean;
  /** Polling interval in ms. */
  readonly lookMs: number;
  /** Time after which the change is requested again if no slot has moved, in ms. */
  readonly beginMs: number;
}

/**
 * Time for which a command still counts as running after it was interrupted, in ms. Meanwhile, functions expect slots
 * to move.
 */
const SCALING_MS = 15 * 60_000;
const LOOK_MS = 2_000;
const BEGIN_MS = 60_000;
const MAX_BEGINS = 3;
const MAX_SHARDS = 500;

/** `ops scale`. */
export function scaleCommand(): Command {
  return command('scale', "change the number of the hot tier's shards without downtime")
    .requiredOption('--shards <n>', 'target number of shards', parseCount(MAX_SHARDS))
    .option('--no-drain', 'do not flush memory before moving its slots')
    .action((options: CommonOptions & { shards: number; drain: boolean }) => {
      const { stack, shards, drain: drains } = options;
      if (stack === undefined)
        throw new OperatorError('the local stack has a single memory server without slots; give --stack');
      return run(
        options,
        async (functions) => {
          const { StageCache } = await import('./elasticache');
          const resharding = new StageCache(stack);
          try {
            return await scaleInterruptibly(functions, resharding, {
              shards,
              drains,
              lookMs: LOOK_MS,
              beginMs: BEGIN_MS,
            });
          } finally {
            resharding.close();
          }
        },
        scaleText,
      );
    });
}

/** Changes the number of shards. If Ctrl-C ends the command, the command prints how far the change has come. */
export function scaleInterruptibly(
  functions: Pick<Functions, 'invoke'>,
  resharding: Resharding,
  options: ScaleOptions,
) {
  return interruptibleSlices(
    'A change that has begun goes on. To watch it, or to begin it, run the command again.',
    (tell) => scale(functions, resharding, options, tell),
  );
}

/**
 * Changes the number of shards. If the command is interrupted, slots keep moving; repeating the command resumes the
 * change, or does nothing if the change is complete.
 *
 * @throws {OperatorError} if slots do not start to move
 */
export async function scale(
  functions: Pick<Functions, 'invoke'>,
  resharding: Resharding,
  { shards, drains, lookMs, beginMs }: ScaleOptions,
  report: (line: string) => void,
  now: () => number = Date.now,
) {
  const watch = (scalingForMs: number) =>
    functions.invoke<MemoryWatch>('operator', { command: 'watch memory', scalingForMs });
  const startedMs = now();
  const first = await resharding.look();
  // Start watching before anything moves, because recovery must know the primaries from before the change.
  const before = await watch(first.shards === shards && !first.isChanging ? 0 : SCALING_MS);
  let drainedSamples = 0;
  if (drains && !first.isChanging && first.shards !== shards) {
    report(`draining memory, so that the slots of ${first.shards} shards move nearly empty`);
    drainedSamples = (await drain(functions, report)).samples;
  }
  let begins = 0;
  let begunMs = Number.NEGATIVE_INFINITY;
  let line = '';
  for (let state = first; state.isChanging || state.shards !== shards; state = await resharding.look()) {
    const { primaries, isMoving } = await watch(SCALING_MS);
    if (!state.isChanging && now() - begunMs > beginMs) {
      if (begins === MAX_BEGINS)
        throw new OperatorError(`the cache still has ${state.shards} shards, but ${shards} were requested`);
      await resharding.begin(shards);
      begins++;
      begunMs = now();
    }
    const next = `${state.shards} of ${shards} shards, ${primaries ?? 'some'} primaries with slots${isMoving ? ', slots are moving' : ''}`;
    if (next !== line) report(next);
    line = next;
    await sleep(lookMs);
  }
  const after = await watch(0);
  return {
    from: first.shards,
    to: shards,
    /** Samples flushed before slots moved. */
    drainedSamples,
    /** Duration of the whole change. */
    ms: now() - startedMs,
    /** Losses detected during the change. A replay repairs them. */
    losses: after.notices - before.notices,
  };
}

function scaleText({ from, to, ms, losses }: Awaited<ReturnType<typeof scale>>): string {
  if (from === to) return `the hot tier has ${to} shards`;
  const lost =
    losses === 0
      ? 'no loss was noticed'
      : `${losses} losses were noticed: see npm run ops -- replay --status`;
  return `${from} -> ${to} shards in ${Math.round(ms / 1000)} s; ${lost}`;
}
