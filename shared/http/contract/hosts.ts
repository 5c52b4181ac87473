import * as z from 'zod';
import { ALERT_STATUSES } from '../../monitors/alert-record';
import { anyObject, text, unixSeconds } from '../../platform/fields';
import { HOST_STATUSES, type HostSpec } from '../../registry/hosts';
import { SERVICE_NAME } from '../../registry/services';
import { HOST, type Route } from './route';
import { emptyBody, integerParameter, success } from './values';

const hostStatus = z.enum(HOST_STATUSES);

const roleFullname = z
  .string()
  .transform((value, context) => {
    const [service, role, ...rest] = value.split(':').map((part) => part.trim());
    if (
      service !== undefined &&
      role !== undefined &&
      rest.length === 0 &&
      SERVICE_NAME.test(service) &&
      SERVICE_NAME.test(role)
    )
      return { service, role };
    context.addIssue({ code: 'custom', message: 'expected service:role', input: value });
    return z.NEVER;
  })
  .meta({ examples: ['shop:web'] });

const roleFullnames = z.array(roleFullname).max(1000);

/**
 * A network interface of a host. Agents post only lists of its addresses, but mkr prints `ipAddress`. So
 * `ipAddress` defaults to the first of `ipv4Addresses`.
 */
const hostInterface = anyObject.transform((entry) => {
  const [first] = Array.isArray(entry.ipv4Addresses) ? entry.ipv4Addresses : [];
  return entry.ipAddress === undefined && typeof first === 'string' ? { ...entry, ipAddress: first } : entry;
});

/** An optional name. Both `null`, which Go writes for an unset field, and `""` mean absent. */
const optionalName = text(0, 255)
  .nullish()
  .transform((value) => value || null);

const listedCheck = z.object({ name: text(1, 255), memo: text(0, 250).nullish() });

/** Body that registers or updates a host. Fields that other agent releases add are ignored. */
export const hostBody = z
  .object({
    name: text(1, 255),
    displayName: optionalName,
    customIdentifier: optionalName,
    memo: text(0, 250).nullish(),
    meta: anyObject.nullish(),
    interfaces: z.array(hostInterface).max(1000).nullish(),
    roleFullnames: roleFullnames.nullish(),
    checks: z.array(anyObject).max(1000).nullish().meta({
      description: 'All checks of the host, as objects with `name` and `memo`. Other elements are ignored.',
    }),
  })
  .transform(({ roleFullnames: roles, checks, ...spec }) => ({
    spec: {
      ...spec,
      memo: spec.memo ?? '',
      meta: spec.meta ?? {},
      interfaces: spec.interfaces ?? [],
    } satisfies HostSpec as HostSpec,
    roles: roles ?? [],
    checks: checks?.flatMap((each) => listedCheck.safeParse(each).data ?? []),
  }));

const hostId = z.object({ id: z.string() });

const host = z
  .object({
    id: z.string(),
    name: z.string(),
    displayName: z.string().nullable(),
    customIdentifier: z.string().nullable(),
    type: z.literal('unknown'),
    size: z.literal('standard'),
    status: hostStatus,
    memo: z.string(),
    roles: z.record(z.string(), z.array(z.string())).meta({ description: 'Role names, by service name.' }),
    isRetired: z.boolean(),
    retiredAt: unixSeconds.optional(),
    createdAt: unixSeconds,
    meta: anyObject.meta({ description: 'As posted.' }),
    interfaces: z.array(anyObject),
  })
  .meta({ id: 'Host' });

const oneHost = z.object({ host });

export const hostQuery = z.object({
  service: z.string().optional(),
  role: z
    .array(z.string())
    .optional()
    .meta({ description: 'Hosts with any of these roles; ignored without `service`.' }),
  name: z.string().optional(),
  status: z
    .array(hostStatus)
    .optional()
    .meta({ description: 'Hosts with any of these statuses. Default: working, standby.' }),
  customIdentifier: z.string().optional(),
  limit: integerParameter
    .refine((value) => value >= 1 && value <= 10_000, { error: '1 to 10000' })
    .optional()
    .meta({
      minimum: 1,
      maximum: 10_000,
      description: 'Maximum number of hosts per page. Pages are sorted by id.',
    }),
  nextId: z
    .string()
    .regex(/^[A-Za-z0-9]{1,64}$/)
    .optional()
    .meta({ description: 'The `nextId` of the previous page.' }),
});

const hostList = z.object({
  hosts: z
    .array(host)
    .meta({ description: 'Sorted by name, or by id when paged. Retired hosts are left out.' }),
  nextId: z.string().optional().meta({ description: 'Present unless this is the last page.' }),
});

const identifierQuery = z.object({ caseInsensitive: z.enum(['true', 'false']).optional() });

const statusBody = z.object({ status: hostStatus });
const rolesBody = z.object({ roleFullnames });

const ids = z.array(z.string()).max(30);
const bulkStatusBody = z.object({ ids, status: hostStatus });
const bulkRetireBody = z.object({ ids });

const monitoredStatuses = z.object({
  monitoredStatuses: z.array(
    z.object({
      monitorId: z.string(),
      status: z.enum(ALERT_STATUSES),
      detail: z.object({ type: z.literal('check'), message: z.string(), memo: z.string() }).optional(),
    }),
  ),
});

export const hostRoutes = [
  {
    method: 'POST',
    path: '/api/v0/hosts',
    right: 'write',
    function: 'registry',
    summary: 'Register a host',
    body: hostBody,
    response: hostId,
  },
  {
    method: 'GET',
    path: '/api/v0/hosts',
    right: 'read',
    function: 'registry',
    summary: 'List hosts',
    query: hostQuery,
    response: hostList,
  },
  {
    method: 'GET',
    path: '/api/v0/hosts.json',
    right: 'read',
    function: 'registry',
    summary: 'List hosts, as /api/v0/hosts does',
    query: hostQuery,
    response: hostList,
  },
  {
    method: 'POST',
    path: '/api/v0/hosts/bulk-update-statuses',
    right: 'write',
    function: 'registry',
    summary: 'Set the status of several hosts',
    body: bulkStatusBody,
    response: success,
  },
  {
    method: 'POST',
    path: '/api/v0/hosts/bulk-retire',
    right: 'write',
    function: 'registry',
    summary: 'Retire several hosts',
    body: bulkRetireBody,
    response: success,
  },
  {
    method: 'GET',
    path: HOST,
    right: 'read',
    function: 'registry',
    summary: 'Read a host',
    response: oneHost,
  },
  {
    method: 'PUT',
    path: HOST,
    right: 'write',
    function: 'registry',
    summary: 'Update a host; roles that are not listed are kept',
    body: hostBody,
    response: hostId,
  },
  {
    method: 'POST',
    path: `${HOST}/status`,
    right: 'write',
    function: 'registry',
    summary: 'Set the status of a host',
    body: statusBody,
    response: success,
  },
  {
    method: 'PUT',
    path: `${HOST}/role-fullnames`,
    right: 'write',
    function: 'registry',
    summary: 'Replace the roles of a host',
    body: rolesBody,
    response: success,
  },
  {
    method: 'POST',
    path: `${HOST}/retire`,
    right: 'write',
    function: 'registry',
    summary: 'Retire a host',
    body: emptyBody,
    response: success,
  },
  {
    method: 'GET',
    path: `${HOST}/monitored-statuses`,
    right: 'read',
    function: 'registry',
    summary: 'List the open alerts and the checks of a host',
    response: monitoredStatuses,
  },
  {
    method: 'GET',
    path: '/api/v0/hosts-by-custom-identifier/{customIdentifier}',
    right: 'read',
    function: 'registry',
    summary: 'Read a host by its custom identifier',
    query: identifierQuery,
    response: oneHost,
  },
] as const satisfies readonly Route[];
