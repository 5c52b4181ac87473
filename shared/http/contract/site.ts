import { status } from '../../operations/status-answer';
import type { Route } from './route';

/** What concerns the stage rather than a source: status, the web page and the OpenAPI document. */
export const siteRoutes = [
  {
    method: 'GET',
    path: '/api/v1/status',
    right: 'read',
    function: 'query',
    summary: 'Read how far the data has moved through the tiers',
    answer: status,
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
    path: '/openapi.json',
    right: 'none',
    function: 'registry',
    summary: 'This document',
  },
] as const satisfies readonly Route[];
