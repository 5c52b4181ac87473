import * as z from 'zod';
import type { Unit } from '../platform/names';
import { HOURS_OF_MONTH } from '../platform/prices';
import { type Billed, big, type CostLine, dollarsOf, gbSeconds, line } from './cost-line';
import { unitsSchema } from './measured-units';

/**
 * Schema of the units that evaluating rules used, as `npm run bench -- rules --json` prints them under
 * `measured`.
 */
export const measuredRulesSchema = z.object({
  rules: z.number().int().min(1),
  /** Number of evaluations of each rule. */
  ticks: z.number().int().min(1),
  /** Units of the evaluator and the query function together. */
  units: unitsSchema,
});

export type MeasuredRules = z.output<typeof measuredRulesSchema>;

const MINUTES_OF_MONTH = HOURS_OF_MONTH * 60;
/**
 * Number of rules in a full invocation of the query function: MAX_RULES in alerting/run-tasks.ts. An invocation for a
 * tenant with more rules evaluates up to 500.
 */
const RULES_OF_INVOCATION = 100;
const EXPLAINED_RULES = 1000;

/**
 * Estimates the monthly cost of evaluating rules every minute. Excludes the cost of the samples that rules
 * record, which is the same as for posted samples. Without rules, the line explains what
 * {@link EXPLAINED_RULES} rules would cost.
 *
 * @param rules recording and alerting rules of all tenants
 */
export function rulesLine(measured: MeasuredRules, rules: number): CostLine {
  const used = rules === 0 ? EXPLAINED_RULES : rules;
  const evaluations = used * MINUTES_OF_MONTH;
  const of = (unit: Unit) => (evaluations * (measured.units[unit] ?? 0)) / (measured.rules * measured.ticks);
  const invocations = evaluations / RULES_OF_INVOCATION;
  const billed: Billed = {
    invocation: invocations,
    functionGbSecond: gbSeconds(of('FunctionMbMs')),
    streamUnit: of('PutUnits'),
    warmWriteUnit: of('WriteUnits'),
    warmReadUnit: of('ReadUnits'),
  };
  const uses = `${big(gbSeconds(of('FunctionMbMs')))} GB-s, ${big(of('WriteUnits'))} write, ${big(of('ReadUnits'))} read and ${big(of('PutUnits'))} put units, ${big(invocations)} invocations`;
  return rules === 0
    ? line(
        'rules',
        `none; ${EXPLAINED_RULES} rules, evaluated each minute, cost $${dollarsOf(billed).toFixed(2)}: ${uses}`,
        {},
      )
    : line(
        'rules',
        `${big(rules)} rules, evaluated each minute: ${uses}; their results cost as posted samples do`,
        billed,
      );
}
