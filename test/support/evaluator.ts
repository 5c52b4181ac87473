import type { RunReport } from '../../shared/alerting/evaluator';
import type { LocalStack } from './local-stack';
import { until } from './until';

/** Evaluates what is due at a time, in ms. A run of the stack's schedule may have to end first. */
export function evaluateAt(stack: LocalStack, atMs: number): Promise<RunReport> {
  const address = new URL('/2015-03-31/functions/heterotsdb-local-evaluator/invocations', stack.url);
  return until(
    `no other run goes on, so that the evaluator begins at ${atMs}`,
    async () => {
      const body = JSON.stringify({ atMs });
      const response = await fetch(address, { method: 'POST', headers: stack.operatorHeaders, body });
      return (await response.json()) as RunReport;
    },
    ({ began }) => began,
  );
}
