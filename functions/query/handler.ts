import { httpHandler } from '../../shared/http/handler';
import { reply } from '../../shared/http/http';
import { withMetrics } from '../../shared/platform/meters';
import { latestHandlers } from './latest';
import { metricTableHandlers } from './metric-table';
import { metricHandlers } from './metrics';
import { promqlHandlers } from './promql';
import { seriesHandlers } from './series';
import { gatekeeper, status } from './stores';

const answer = httpHandler(gatekeeper, {
  ...metricHandlers,
  ...metricTableHandlers,
  ...seriesHandlers,
  ...latestHandlers,
  ...promqlHandlers,

  'GET /api/v1/status': async ({ tenant }) => reply(200, await status.of(tenant)),
});

export const handler = withMetrics('query', answer);
