import { EMPTY_LISTS } from '../../shared/http/contract/monitoring';
import { httpHandler, type RouteHandlers } from '../../shared/http/handler';
import { bodyText, reply, replyPlain, replyText } from '../../shared/http/http';
import { openApiDocument } from '../../shared/http/openapi';
import { executeStatement } from '../../shared/protocol/influx/statement';
import { alertHandlers } from './alerts';
import { dashboardHandlers } from './dashboards';
import { graphHandlers } from './graphs';
import { hostHandlers } from './hosts';
import { metadataHandlers } from './metadata';
import { monitorHandlers } from './monitors';
import { notificationHandlers } from './notifications';
import { receiverHandlers } from './receivers';
import { ruleHandlers } from './rules';
import { serviceHandlers } from './services';
import { silenceHandlers } from './silences';
import { gatekeeper } from './stores';

const startedAt = new Date();

/** The OpenAPI document as JSON. The first request generates it. */
let document: string | undefined;

const emptyLists = Object.fromEntries(
  EMPTY_LISTS.map(({ path, field }) => [`GET ${path}`, async () => reply(200, { [field]: [] })]),
) as RouteHandlers;

export const handler = httpHandler(gatekeeper, {
  ...hostHandlers,
  ...alertHandlers,
  ...serviceHandlers,
  ...metadataHandlers,
  ...graphHandlers,
  ...ruleHandlers,
  ...receiverHandlers,
  ...silenceHandlers,
  ...dashboardHandlers,
  ...monitorHandlers,
  ...notificationHandlers,
  ...emptyLists,

  'GET /health': async () =>
    reply(200, { name: 'heterotsdb', message: 'ready for queries and writes', status: 'pass', checks: [] }),
  'GET /ready': async () =>
    reply(200, { status: 'ready', started: startedAt, up: `${process.uptime().toFixed(3)}s` }),

  'GET /prometheus': async () => ({ statusCode: 302, headers: { location: '/' } }),
  'GET /alerts': async ({ query: { alert } }) => toPage({ view: 'alerts', alert }),
  'GET /hosts': async ({ query: { host, service, role } }) => {
    if (host !== undefined) return toPage({ host });
    if (service === undefined) return toPage({ view: 'hosts' });
    return toPage(role === undefined ? { service } : { role: `${service}:${role}` });
  },
  'GET /prometheus/-/healthy': async () => replyPlain('Prometheus Server is Healthy.\n'),
  'GET /prometheus/-/ready': async () => replyPlain('Prometheus Server is Ready.\n'),

  'GET /ping': async () => ({ statusCode: 204, headers: { 'x-influxdb-version': '1.8.10' } }),
  'GET /query': async ({ query: { q } }) => statement(q),
  'POST /query': async ({ event, query: { q } }) =>
    statement(q ?? new URLSearchParams(bodyText(event)).get('q') ?? undefined),

  'GET /openapi.json': async () => {
    document ??= JSON.stringify(openApiDocument());
    return replyText(200, document, { 'cache-control': 'public, max-age=300' });
  },
});

/** Redirects to a view of the page. The part of the address after `#` names the view. */
function toPage(fields: Readonly<Record<string, string | undefined>>) {
  const given = Object.entries(fields).flatMap(([name, value]) =>
    value ? [[name, value] as [string, string]] : [],
  );
  return { statusCode: 302, headers: { location: `/#${new URLSearchParams(given)}` } };
}

function statement(text: string | undefined) {
  const { status, body } = executeStatement(text);
  return reply(status, body);
}
