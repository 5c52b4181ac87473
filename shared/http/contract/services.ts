import * as z from 'zod';
import { text } from '../../platform/fields';
import { SERVICE_NAME } from '../../registry/services';
import { ROLE, type Route, SERVICE } from './route';

export const serviceName = z.string().regex(SERVICE_NAME, `expected a name like ${SERVICE_NAME.source}`);

const memo = text(0, 250);

/** Body that creates a service or a role. */
const newService = z.object({ name: serviceName, memo: memo.nullish() });

const service = z
  .object({ name: z.string(), memo: z.string(), roles: z.array(z.string()).meta({ description: 'Sorted.' }) })
  .meta({ id: 'Service' });

const role = z.object({ name: z.string(), memo: z.string() }).meta({ id: 'Role' });

const serviceList = z.object({ services: z.array(service) });
const roleList = z.object({ roles: z.array(role) });

const organization = z
  .object({ name: z.string(), displayName: z.string().nullable() })
  .meta({ id: 'Organization' });

export const serviceRoutes = [
  {
    method: 'GET',
    path: '/api/v0/services',
    right: 'read',
    function: 'registry',
    summary: 'List services',
    response: serviceList,
  },
  {
    method: 'POST',
    path: '/api/v0/services',
    right: 'write',
    function: 'registry',
    summary: 'Create a service',
    body: newService,
    response: service,
  },
  {
    method: 'DELETE',
    path: SERVICE,
    right: 'write',
    function: 'registry',
    summary: 'Delete a service and its roles',
    response: service,
  },
  {
    method: 'GET',
    path: `${SERVICE}/roles`,
    right: 'read',
    function: 'registry',
    summary: 'List the roles of a service',
    response: roleList,
  },
  {
    method: 'POST',
    path: `${SERVICE}/roles`,
    right: 'write',
    function: 'registry',
    summary: 'Create a role',
    body: newService,
    response: role,
  },
  {
    method: 'DELETE',
    path: ROLE,
    right: 'write',
    function: 'registry',
    summary: 'Delete a role',
    response: role,
  },
  {
    method: 'GET',
    path: '/api/v0/org',
    right: 'read',
    function: 'registry',
    summary: 'Read the organization',
    response: organization,
  },
] as const satisfies readonly Route[];
