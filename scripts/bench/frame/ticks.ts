import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunReport } from '../../../shared/alerting/evaluation';
import type { Units } from '../../../shared/cost/measured-units';
import { cpuByKind } from './cpu';
import type { Frame } from './frame';
import { MeterLog } from './meter-log';
import { quantile } from './quantile';
import type { BenchStack } from './stack';

const MINUTE_MS = 60_000;

/** Measurements of some ticks, in which all groups of rules are evaluated. */
export interface MeasuredTicks {
  readonly secondsATick: { readonly median: number; readonly most: number };
  /** CPU of all ticks in ms, by kind of process. */
  readonly cpuMs: Readonly<Record<string, number>>;
  /** Units that evaluator and query used in all ticks. */
  readonly units: Units;
}

/**
 * Evaluates rules or monitors on a stack.
 *
 * @param count number of ticks that are measured, after those that catch up with the stack's schedule
 * @param apartMs least time between the starts of two ticks
 */
export async function measureTicks(
  frame: Frame,
  { stack, functions }: BenchStack,
  count: number,
  apartMs: number,
): Promise<MeasuredTicks> {
  const log = new MeterLog(join(stack.dataDir, 'functions.log'));
  frame.atEnd(() => log.close());
  let tickMs = 0;
  /** Runs the evaluator for the next tick. It lies in the future, so that the stack's own schedule finds it done. */
  const run = async (): Promise<RunReport> => {
    tickMs = Math.max(tickMs, Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS) + MINUTE_MS;
    for (;;) {
      const report = await functions.invoke<RunReport>('evaluator', { atMs: tickMs });
      if (report.began) return report;
      // Wait for the scheduled run to end.
      await sleep(100);
    }
  };
  const takeUnits = (): Units => {
    const sum: Record<string, number> = {};
    for (const name of ['evaluator', 'query'] as const)
      for (const [unit, amount] of Object.entries(log.take(name).units))
        sum[unit] = (sum[unit] ?? 0) + amount;
    return sum;
  };
  for (let isBehind = true; isBehind; ) {
    const report = await run().catch(() => undefined);
    isBehind = report === undefined || report.failedGroups > 0 || report.ticks !== report.groups;
    frame.log(`catching up: ${report === undefined ? 'a run out of time' : `${report.ticks} evaluations`}`);
  }
  await sleep(apartMs);
  takeUnits();
  const cpu = cpuByKind(stack.processes);
  const seconds: number[] = [];
  for (let tick = 0; tick < count; tick++) {
    const beganMs = performance.now();
    const report = await run();
    seconds.push((performance.now() - beganMs) / 1000);
    if (report.failedGroups + report.failingRules > 0 || report.ticks !== report.groups)
      throw new Error(`the tick was not evaluated in full: ${JSON.stringify(report)}`);
    frame.log(`tick ${tick + 1} of ${count}: ${report.groups} groups in ${seconds.at(-1)!.toFixed(2)} s`);
    await sleep(Math.max(0, beganMs + apartMs - performance.now()));
  }
  return {
    secondsATick: { median: quantile(seconds, 0.5), most: Math.max(...seconds) },
    cpuMs: Object.fromEntries(Object.entries(cpu()).map(([kind, s]) => [kind, s * 1000])),
    units: takeUnits(),
  };
}
