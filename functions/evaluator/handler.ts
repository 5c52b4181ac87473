import * as z from 'zod';
import { runTasks } from '../../shared/alerting/run-tasks';
import type { RunReport } from '../../shared/alerting/tasks/evaluation';
import { evaluatorDependencies } from '../../shared/compose/evaluator';
import { randomId } from '../../shared/model/random-id';
import { parseEvent } from '../../shared/platform/event';
import { count, withMetrics } from '../../shared/platform/function-metrics';
import { log } from '../../shared/platform/log';

const dependencies = evaluatorDependencies();

/** Age of an unsent notification at which the alarm fires, in ms. */
const MAX_OUTBOX_MS = 15 * 60_000;

const eventSchema = z.object({
  /** Evaluates the rules and monitors that are due at this time, as Unix time in ms. The default is now. */
  atMs: z.number().int().min(0).optional(),
});

/**
 * Evaluates the rules and monitors of all tenants; the schedule invokes it each minute. It runs outside the
 * VPC, where it reaches Lambda's API, the stream and the receivers of notifications. The query function,
 * inside the VPC, reads the samples for it.
 */
export const handler = withMetrics('evaluator', handle);

async function handle(event: unknown): Promise<RunReport> {
  const { atMs } = parseEvent(eventSchema, event ?? {});
  const report = await runTasks(dependencies, randomId(), atMs);
  if (report.skipped > 0)
    log.error('evaluations of rules were skipped: their ticks were too old to catch up', { ...report });
  const isOverdue = report.outboxAgeMs > MAX_OUTBOX_MS;
  count('evaluator', {
    RuleLagSeconds: Math.max(report.lagMs, report.quietMs) / 1000,
    RulesFailing: report.failingRules + report.failedTasks,
    AlertsUndelivered: report.dropped + (isOverdue ? 1 : 0),
  });
  return report;
}
