import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import {
  type EvaluationEvent,
  type EvaluationResponse,
  isEvaluation,
} from '../../shared/alerting/tasks/evaluation';
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

const answer = withMetrics('query', async (event: EvaluationEvent | APIGatewayProxyEventV2) => {
  // The counter can be reset here, because an instance handles one event at a time.
  governor.waitedMs = 0;
  // Start reading the gaps now, so that DynamoDB answers while the request is being authenticated.
  dependencies.gaps.prepare();
  try {
    return await (isEvaluation(event) ? evaluate(event) : handle(event));
  } finally {
    if (governor.waitedMs > 0) count('query', { ReadWaitMs: governor.waitedMs });
  }
});

/** Answers the evaluator, which invokes this function directly, and requests of the API. */
export function handler(event: EvaluationEvent): Promise<EvaluationResponse>;
export function handler(event: APIGatewayProxyEventV2): Promise<APIGatewayProxyStructuredResultV2>;
export function handler(event: EvaluationEvent | APIGatewayProxyEventV2) {
  return answer(event);
}
