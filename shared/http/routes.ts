import * as z from 'zod';
import { status } from '../operations/status-answer';
import type { FunctionName } from '../platform/names';
import type { Right } from '../tenancy/rights';
import * as checks from './contract/checks';
import * as graphs from './contract/graphs';
import * as hosts from './contract/hosts';
import * as lines from './contract/lines';
import * as metrics from './contract/metrics';
import * as series from './contract/series';
import * as services from './contract/services';
import * as values from './contract/values';

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** In API Gateway's form: `{name}` stands for one path segment. */
  readonly path: string;
  /** What a key must be allowed to do; `none`: no key is asked for. */
  readonly right: Right | 'none';
  readonly function: FunctionName;
  readonly summary: string;
  /** Parameters of the query string; an array for one that may stand several times. Others are let be. */
  readonly query?: z.ZodObject;
  /** The body, read as JSON. */
  readonly body?: z.ZodType;
  /** Content type of a body that is not JSON: the handler reads it. */
  readonly rawBody?: string;
  /** The body of a 200, as JSON; absent where it is something else. */
  readonly answer?: z.ZodType;
  /** Of success; 200 when it is not given. */
  readonly status?: 204;
  /** What a 400 may say in place of Mackerel's error. */
  readonly refusal?: z.ZodType;
}

const HOST = '/api/v0/hosts/{hostId}';
const SERVICE = '/api/v0/services/{serviceName}';
const ROLE = `${SERVICE}/roles/{roleName}` as const;
const ANNOTATION = '/api/v0/graph-annotations/{annotationId}';

/**
 * What Mackerel has and this has not: lists that are always empty, so that what asks for them goes on.
 *
 * @see ../shared/mackerel-api.md, section 6
 */
export const EMPTY_LISTS = [
  { path: '/api/v0/monitors', field: 'monitors' },
  { path: '/api/v0/channels', field: 'channels' },
  { path: '/api/v0/notification-groups', field: 'notificationGroups' },
  { path: '/api/v0/alerts', field: 'alerts' },
  { path: '/api/v0/alert-group-settings', field: 'alertGroupSettings' },
  { path: '/api/v0/downtimes', field: 'downtimes' },
  { path: '/api/v0/dashboards', field: 'dashboards' },
  { path: '/api/v0/users', field: 'users' },
  { path: '/api/v0/invitations', field: 'invitations' },
  { path: '/api/v0/aws-integrations', field: 'aws_integrations' },
] as const;

/**
 * The HTTP API as data: synthesis makes its routes from this table, the functions dispatch, authorize and validate by
 * it, the OpenAPI document is made of it, and the registry answers whatever is not in it with 404 or 405.
 *
 * @see ../shared/mackerel-api.md for the contract of each
 */
export const ROUTES = [
  {
    method: 'POST',
    path: '/api/v0/tsdb',
    right: 'write',
    function: 'post',
    summary: 'Post metrics of hosts',
    body: metrics.hostPoints,
    answer: metrics.posted,
  },
  {
    method: 'POST',
    path: `${SERVICE}/tsdb`,
    right: 'write',
    function: 'post',
    summary: 'Post metrics of a service',
    body: metrics.servicePoints,
    answer: metrics.posted,
  },

  {
    method: 'POST',
    path: '/write',
    right: 'write',
    function: 'post',
    summary: 'Post Influx line protocol, as to InfluxDB 1',
    query: lines.writeQuery,
    rawBody: 'text/plain',
    status: 204,
    refusal: lines.refusal1,
  },
  {
    method: 'POST',
    path: '/api/v2/write',
    right: 'write',
    function: 'post',
    summary: 'Post Influx line protocol, as to InfluxDB 2',
    query: lines.writeQuery,
    rawBody: 'text/plain',
    status: 204,
    refusal: lines.refusal2,
  },

  {
    method: 'GET',
    path: '/api/v1/series',
    right: 'read',
    function: 'query',
    summary: 'List the series of a host, or of what has exactly these labels',
    query: lines.seriesQuery,
    answer: lines.series,
  },
  {
    method: 'GET',
    path: '/api/v1/series/metrics',
    right: 'read',
    function: 'query',
    summary: 'Read a series by its labels',
    query: lines.seriesMetricsQuery,
    answer: lines.seriesMetrics,
  },
  {
    method: 'GET',
    path: `${HOST}/metrics`,
    right: 'read',
    function: 'query',
    summary: 'Read a metric of a host',
    query: metrics.metricsQuery,
    answer: metrics.metrics,
  },
  {
    method: 'GET',
    path: `${SERVICE}/metrics`,
    right: 'read',
    function: 'query',
    summary: 'Read a metric of a service',
    query: metrics.metricsQuery,
    answer: metrics.metrics,
  },
  {
    method: 'GET',
    path: '/api/v0/tsdb/latest',
    right: 'read',
    function: 'query',
    summary: 'Read the latest samples of hosts',
    query: metrics.latestQuery,
    answer: metrics.latest,
  },
  {
    method: 'GET',
    path: `${HOST}/metric-names`,
    right: 'read',
    function: 'query',
    summary: 'List the metrics of a host',
    answer: metrics.metricNames,
  },
  {
    method: 'GET',
    path: `${SERVICE}/metric-names`,
    right: 'read',
    function: 'query',
    summary: 'List the metrics of a service',
    answer: metrics.metricNames,
  },

  {
    method: 'POST',
    path: '/api/v0/hosts',
    right: 'write',
    function: 'registry',
    summary: 'Register a host',
    body: hosts.hostBody,
    answer: hosts.hostId,
  },
  {
    method: 'GET',
    path: '/api/v0/hosts',
    right: 'read',
    function: 'registry',
    summary: 'List hosts',
    query: hosts.hostQuery,
    answer: hosts.hostList,
  },
  {
    method: 'GET',
    path: '/api/v0/hosts.json',
    right: 'read',
    function: 'registry',
    summary: 'List hosts; another name of the same',
    query: hosts.hostQuery,
    answer: hosts.hostList,
  },
  {
    method: 'POST',
    path: '/api/v0/hosts/bulk-update-statuses',
    right: 'write',
    function: 'registry',
    summary: 'Set the status of several hosts',
    body: hosts.bulkStatusBody,
    answer: values.success,
  },
  {
    method: 'POST',
    path: '/api/v0/hosts/bulk-retire',
    right: 'write',
    function: 'registry',
    summary: 'Retire several hosts',
    body: hosts.bulkRetireBody,
    answer: values.success,
  },
  {
    method: 'GET',
    path: HOST,
    right: 'read',
    function: 'registry',
    summary: 'Read a host',
    answer: hosts.oneHost,
  },
  {
    method: 'PUT',
    path: HOST,
    right: 'write',
    function: 'registry',
    summary: 'Update a host; roles that are not listed are kept',
    body: hosts.hostBody,
    answer: hosts.hostId,
  },
  {
    method: 'POST',
    path: `${HOST}/status`,
    right: 'write',
    function: 'registry',
    summary: 'Set the status of a host',
    body: hosts.statusBody,
    answer: values.success,
  },
  {
    method: 'PUT',
    path: `${HOST}/role-fullnames`,
    right: 'write',
    function: 'registry',
    summary: 'Replace the roles of a host',
    body: hosts.rolesBody,
    answer: values.success,
  },
  {
    method: 'POST',
    path: `${HOST}/retire`,
    right: 'write',
    function: 'registry',
    summary: 'Retire a host',
    body: values.emptyBody,
    answer: values.success,
  },
  {
    method: 'GET',
    path: `${HOST}/monitored-statuses`,
    right: 'read',
    function: 'registry',
    summary: 'List what is monitored of a host: nothing yet',
    answer: hosts.monitoredStatuses,
  },
  {
    method: 'GET',
    path: '/api/v0/hosts-by-custom-identifier/{customIdentifier}',
    right: 'read',
    function: 'registry',
    summary: 'Read a host by its custom identifier',
    query: hosts.identifierQuery,
    answer: hosts.oneHost,
  },

  {
    method: 'GET',
    path: '/api/v0/services',
    right: 'read',
    function: 'registry',
    summary: 'List services',
    answer: services.serviceList,
  },
  {
    method: 'POST',
    path: '/api/v0/services',
    right: 'write',
    function: 'registry',
    summary: 'Make a service',
    body: services.newService,
    answer: services.service,
  },
  {
    method: 'DELETE',
    path: SERVICE,
    right: 'write',
    function: 'registry',
    summary: 'Delete a service and its roles',
    answer: services.service,
  },
  {
    method: 'GET',
    path: `${SERVICE}/roles`,
    right: 'read',
    function: 'registry',
    summary: 'List the roles of a service',
    answer: services.roleList,
  },
  {
    method: 'POST',
    path: `${SERVICE}/roles`,
    right: 'write',
    function: 'registry',
    summary: 'Make a role',
    body: services.newService,
    answer: services.role,
  },
  {
    method: 'DELETE',
    path: ROLE,
    right: 'write',
    function: 'registry',
    summary: 'Delete a role',
    answer: services.role,
  },
  {
    method: 'GET',
    path: '/api/v0/org',
    right: 'read',
    function: 'registry',
    summary: 'Read the organization',
    answer: services.organization,
  },

  ...metadataRoutes(HOST, 'a host'),
  ...metadataRoutes(SERVICE, 'a service'),
  ...metadataRoutes(ROLE, 'a role'),

  {
    method: 'POST',
    path: '/api/v0/graph-defs/create',
    right: 'write',
    function: 'registry',
    summary: 'Define graphs of host metrics',
    body: graphs.graphDefinitions,
    answer: values.success,
  },
  {
    method: 'DELETE',
    path: '/api/v0/graph-defs',
    right: 'write',
    function: 'registry',
    summary: 'Delete the definition of a graph',
    body: graphs.graphDefinitionName,
    answer: values.success,
  },
  {
    method: 'DELETE',
    path: `${SERVICE}/graph-defs/{graphName}`,
    right: 'write',
    function: 'registry',
    summary: "Delete the definition of a graph of a service's metrics: there are none",
    answer: values.success,
  },
  {
    method: 'POST',
    path: '/api/v0/graph-annotations',
    right: 'write',
    function: 'registry',
    summary: 'Annotate the graphs of a service',
    body: graphs.annotationBody,
    answer: graphs.annotation,
  },
  {
    method: 'GET',
    path: '/api/v0/graph-annotations',
    right: 'read',
    function: 'registry',
    summary: 'List the annotations of a service',
    query: graphs.annotationQuery,
    answer: graphs.annotationList,
  },
  {
    method: 'PUT',
    path: ANNOTATION,
    right: 'write',
    function: 'registry',
    summary: 'Replace an annotation',
    body: graphs.annotationBody,
    answer: graphs.annotation,
  },
  {
    method: 'DELETE',
    path: ANNOTATION,
    right: 'write',
    function: 'registry',
    summary: 'Delete an annotation',
    answer: graphs.annotation,
  },

  {
    method: 'POST',
    path: '/api/v0/monitoring/checks/report',
    right: 'write',
    function: 'registry',
    summary: 'Report checks: accepted, so that agents go on, and not kept',
    body: checks.checkReports,
    answer: values.success,
  },
  ...EMPTY_LISTS.map(emptyListRoute),

  {
    method: 'GET',
    path: '/api/v1/hosts/{hostId}/metrics',
    right: 'read',
    function: 'query',
    summary: 'Read metrics of a host, side by side',
    query: series.seriesQuery,
    answer: series.series,
  },
  {
    method: 'GET',
    path: '/api/v1/services/{serviceName}/metrics',
    right: 'read',
    function: 'query',
    summary: 'Read metrics of a service, side by side',
    query: series.seriesQuery,
    answer: series.series,
  },
  {
    method: 'GET',
    path: '/api/v1/graph-definitions',
    right: 'read',
    function: 'registry',
    summary: 'List graph definitions',
    answer: graphs.graphDefinitionList,
  },
  {
    method: 'GET',
    path: '/api/v1/status',
    right: 'read',
    function: 'query',
    summary: 'Say where the data stands on its way through the tiers',
    answer: status,
  },

  {
    method: 'GET',
    path: '/',
    right: 'none',
    function: 'page',
    summary: 'The page to look at',
  },
  {
    method: 'GET',
    path: '/assets/{file}',
    right: 'none',
    function: 'page',
    summary: 'A file of the page',
  },
  {
    method: 'GET',
    path: '/openapi.json',
    right: 'none',
    function: 'registry',
    summary: 'This document',
  },
] as const satisfies readonly Route[];

function emptyListRoute<const Path extends string>({ path, field }: { path: Path; field: string }) {
  return {
    method: 'GET',
    path,
    right: 'read',
    function: 'registry',
    summary: `List ${field}: always empty`,
    answer: z.object({ [field]: z.array(z.never()) }),
  } as const;
}

function metadataRoutes<const Owner extends string>(owner: Owner, of: string) {
  const list = `${owner}/metadata` as const;
  const entry = `${list}/{namespace}` as const;
  return [
    {
      method: 'GET',
      path: list,
      right: 'read',
      function: 'registry',
      summary: `List the metadata of ${of}`,
      answer: services.namespaceList,
    },
    {
      method: 'GET',
      path: entry,
      right: 'read',
      function: 'registry',
      summary: `Read metadata of ${of}`,
      answer: services.metadata,
    },
    {
      method: 'PUT',
      path: entry,
      right: 'write',
      function: 'registry',
      summary: `Put metadata of ${of}`,
      body: services.metadata,
      answer: values.success,
    },
    {
      method: 'DELETE',
      path: entry,
      right: 'write',
      function: 'registry',
      summary: `Delete metadata of ${of}`,
      answer: values.success,
    },
  ] as const;
}

/** Handles every request that no route matches. */
export const FALLBACK_FUNCTION: FunctionName = 'registry';

/** A route as API Gateway names it: `GET /api/v0/hosts`. */
export type RouteKey = keyof RoutesByKey;

/** The entry of the table for each key. */
export type RoutesByKey = {
  [R in (typeof ROUTES)[number] as `${R['method']} ${R['path']}`]: R;
};
