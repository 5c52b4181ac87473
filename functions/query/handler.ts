import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { httpHandler } from '../../shared/http/handler';
import { reply } from '../../shared/http/http';
import { withMetrics } from '../../shared/platform/meters';
import { evaluateRules, isEvaluation } from './evaluate-rules';
import { latestHandlers } from './latest';
import { metricTableHandlers } from './metric-table';
import { metricHandlers } from './metrics';
import { promqlHandlers } from './promql';
import { ruleListHandlers } from './rule-lists';
import { seriesHandlers } from './series';
import { gatekeeper, status } from './stores';

const answer = httpHandler(gatekeeper, {
  ...metricHandlers,
  ...metricTableHandlers,
  ...seriesHandlers,
  ...latestHandlers,
  ...promqlHandlers,
  ...ruleListHandlers,

  'GET /api/v1/status': async ({ tenant }) => reply(200, await status.of(tenant)),
});

export const handler = withMetrics('query', (event: APIGatewayProxyEventV2) =>
  // The evaluator's answer is no answer of the API's.
  isEvaluation(event) ? (evaluateRules(event) as Promise<never>) : answer(event),
);
