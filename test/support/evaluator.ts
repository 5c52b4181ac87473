import { setTimeout as sleep } from 'node:timers/promises';
import { DeleteItemCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Random } from '../../scripts/faults/random';
import { localAws } from '../../scripts/local/provision';
import { physicalName } from '../../scripts/local/template';
import type { RunReport } from '../../shared/alerting/tasks/evaluation';
import { EvaluatorStore } from '../../shared/alerting/tasks/evaluator-store';
import { metaKeys } from '../../shared/platform/keys';
import type { Table } from '../../shared/platform/table';
import type { LocalStack } from './local-stack';
import { SEED } from './seed';
import { until } from './until';

/**
 * Runs the evaluator as of a given Unix time in ms. If a run that the stack's schedule started is in progress, waits
 * until that run ends.
 */
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

const random = new Random(SEED);

/**
 * Runs the evaluator as of a given Unix time in ms, and kills all functions at a random moment of the run. Then ends the
 * run in the table, where it would otherwise block other runs for a minute.
 */
export async function killEvaluation(stack: LocalStack, atMs: number): Promise<void> {
  const killed = evaluateAt(stack, atMs).catch(() => undefined);
  await sleep(random.integer(0, 200));
  await stack.killFunctions();
  await withTable(stack, ({ client, name }) =>
    client.send(new DeleteItemCommand({ TableName: name, Key: metaKeys.evaluatorRun })),
  );
  await killed;
}

/** Makes failed notifications due now. Otherwise they would be tried again only after half a minute or more. */
export const retryNow = (stack: LocalStack): Promise<unknown> =>
  withTable(stack, async (table) => {
    const store = new EvaluatorStore(table);
    for (const item of await store.outbox()) await store.putOff({ ...item, dueMs: 0 });
  });

async function withTable<T>(stack: LocalStack, work: (table: Table) => Promise<T>): Promise<T> {
  const client = new DynamoDBClient(localAws(Number(new URL(stack.awsEndpoint).port)));
  try {
    return await work({ client, name: physicalName('MetaTable') });
  } finally {
    client.destroy();
  }
}
