import * as z from 'zod';
import { status } from '../../operations/status-response';
import type { Route } from './route';

/** The health response of InfluxDB, whose clients parse these fields. */
const health = z
  .object({ name: z.string(), message: z.string(), status: z.literal('pass'), checks: z.array(z.never()) })
  .meta({ id: 'Health' });
const ready = z
  .object({ status: z.literal('ready'), started: z.string(), up: z.string() })
  .meta({ id: 'Ready' });

/** Maximum length of a name or id in a link. */
const MAX_LINKED = 255;
const linked = z.string().max(MAX_LINKED).optional();

/**
 * Routes about the deployment rather than its data: health, status, the web page and the OpenAPI document.
 */
export const siteRoutes = [
  {
    method: 'GET',
    path: '/health',
    right: 'none',
    function: 'registry',
    summary: 'Answer `pass`, for uptime checks; reads no store',
    response: health,
  },
  {
    method: 'GET',
    path: '/ready',
    right: 'none',
    function: 'registry',
    summary: 'Answer `ready`, as InfluxDB does; reads no store',
    response: ready,
  },
  {
    method: 'GET',
    path: '/api/v1/status',
    right: 'read',
    function: 'query',
    summary: 'Read how far the data has moved through the tiers',
    response: status,
  },
  {
    method: 'GET',
    path: '/',
    right: 'none',
    function: 'page',
    summary: 'The web page',
  },
  {
    method: 'GET',
    path: '/assets/{file}',
    right: 'none',
    function: 'page',
    summary: 'A file of the web page',
  },
  {
    method: 'GET',
    path: '/alerts',
    right: 'none',
    function: 'registry',
    summary: 'Redirect to the web page with an alert open; notifications link here',
    query: z.object({ alert: linked }),
    status: 302,
  },
  {
    method: 'GET',
    path: '/hosts',
    right: 'none',
    function: 'registry',
    summary: 'Redirect to the web page with the graphs of a host, service or role; notifications link here',
    query: z.object({ host: linked, service: linked, role: linked }),
    status: 302,
  },
  {
    method: 'GET',
    path: '/openapi.json',
    right: 'none',
    function: 'registry',
    summary: 'This document',
  },
] as const satisfies readonly Route[];
