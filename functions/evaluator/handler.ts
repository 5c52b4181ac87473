import * as z from 'zod';
import { type RunReport, runEvaluator } from '../../shared/alerting/evaluator';
import { evaluatorDependencies } from '../../shared/compose/evaluator';
import { randomId } from '../../shared/model/random-id';
import { parseEvent } from '../../shared/platform/event';
import { log } from '../../shared/platform/log';
import { count, withMetrics } from '../../shared/platform/meters';

const dependencies = evaluatorDependencies();

const eventSchema = z.object({
  /** Evaluates what is due at this time, ms since epoch, instead of now. */
  atMs: z.number().int().min(0).optional(),
});

/**
 * Evaluates the rules of all tenants, each minute. It runs outside of the VPC, where Lambda's API, the stream and receivers of
 * notifications can be reached; the query function, inside, reads the samples.
 */
export const handler = withMetrics('evaluator', answer);

async function answer(event: unknown): Promise<RunReport> {
  const { atMs } = parseEvent(eventSchema, event ?? {});
  const report = await runEvaluator(dependencies, randomId(), atMs);
  if (report.skipped > 0) log.error('slots of rules were too old to be made up', { ...report });
  count('evaluator', {
    RuleLagSeconds: report.lagMs / 1000,
    RulesFailing: report.failingRules + report.failedGroups,
  });
  return report;
}
