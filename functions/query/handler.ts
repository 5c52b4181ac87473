import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { type EvaluationEvent, isEvaluation } from '../../shared/alerting/tasks/evaluation';
import { httpHandler } from '../../shared/http/handler';
import { reply } from '../../shared/http/http';
import { evaluateMonitors } from '../../shared/monitors/evaluate-monitors';
import { count, withMetrics } from '../../shared/platform/function-metrics';
import { evaluateRules, type RuleInputs } from '../../shared/rules/evaluate-rules';
import { latestHandlers } from './latest';
import { metricTableHandlers } from './metric-table';
import { metricHandlers } from './metrics';
import { monitorStores, previewHandlers } from './monitors';
import { promqlHandlers } from './promql';
import { ruleListHandlers } from './rule-lists';
import { seriesHandlers } from './series';
import {
  dependencies,
  gatekeeper,
  governor,
  queriesOf,
  receivers,
  ruleGroups,
  ruleStates,
  silences,
  stage,
  status,
} from './stores';

const handle = httpHandler(gatekeeper, {
  ...metricHandlers,
  ...metricTableHandlers,
  ...seriesHandlers,
  ...latestHandlers,
  ...promqlHandlers,
  ...ruleListHandlers,
  ...previewHandlers,

  'GET /api/v1/status': async ({ tenant }) => reply(200, await status.of(tenant)),
});

const ruleInputs: RuleInputs = {
  tenants: dependencies.tenants,
  ruleGroups,
  states: ruleStates,
  silences,
  receivers,
  queriesOf,
  charge: (tenant, tookMs) => gatekeeper.queries.charge(tenant, tookMs),
  stage,
};

const evaluate = ({ evaluate: request }: EvaluationEvent) =>
  request.kind === 'monitor' ? evaluateMonitors(monitorStores, request) : evaluateRules(ruleInputs, request);

export const handler = withMetrics('query', async (event: APIGatewayProxyEventV2) => {
  // The counter can be reset here, because an instance handles one event at a time.
  governor.waitedMs = 0;
  // Start reading the gaps now, so that DynamoDB answers while the request is being authenticated.
  dependencies.gaps.prepare();
  try {
    // The evaluator invokes this function directly, so the response to an evaluation is not an API reply.
    return await (isEvaluation(event) ? (evaluate(event) as Promise<never>) : handle(event));
  } finally {
    if (governor.waitedMs > 0) count('query', { ReadWaitMs: governor.waitedMs });
  }
});
