import * as z from 'zod';
import type { Unit } from '../platform/names';
import { big, type CostLine, gbSeconds, line } from './cost-line';
import { unitsSchema } from './measured-units';
import { HOURS_OF_MONTH, PRICE } from './prices';

/** Units used by evaluating rules, as `npm run bench -- rules --json` prints under `measured`. */
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
 * Rules in a full invocation of the query function: MAX_RULES in alerting/evaluator.ts. An invocation for a
 * tenant with more rules has up to 500.
 */
const RULES_OF_INVOCATION = 100;
const EXPLAINED_RULES = 1000;

/**
 * Estimates the monthly cost of evaluating rules every minute. The samples that rules record cost the same as
 * posted ones and are not included.
 *
 * @param rules recording and alerting rules of all tenants
 */
export function rulesLine(measured: MeasuredRules, rules: number): CostLine {
  const used = rules === 0 ? EXPLAINED_RULES : rules;
  const evaluations = used * MINUTES_OF_MONTH;
  const of = (unit: Unit) => (evaluations * (measured.units[unit] ?? 0)) / (measured.rules * measured.ticks);
  const invocations = evaluations / RULES_OF_INVOCATION;
  const dollars =
    invocations * PRICE.invocation +
    gbSeconds(of('FunctionMbMs')) * PRICE.functionGbSecond +
    of('PutUnits') * PRICE.streamUnit +
    of('WriteUnits') * PRICE.warmWriteUnit +
    of('ReadUnits') * PRICE.warmReadUnit;
  const uses = `${big(gbSeconds(of('FunctionMbMs')))} GB-s, ${big(of('WriteUnits'))} write, ${big(of('ReadUnits'))} read and ${big(of('PutUnits'))} put units, ${big(invocations)} invocations`;
  return rules === 0
    ? line(
        'rules',
        `none; ${EXPLAINED_RULES} rules, evaluated each minute, cost $${dollars.toFixed(2)}: ${uses}`,
        0,
      )
    : line(
        'rules',
        `${big(rules)} rules, evaluated each minute: ${uses}; their results cost as posted samples do`,
        dollars,
      );
}
