import * as z from 'zod';
import { HOST_STATUSES, type HostSpec } from '../../registry/hosts';
import { SERVICE_NAME } from '../../registry/services';
import { anyObject, epochSeconds, integerParameter, text } from './values';

export const hostStatus = z.enum(HOST_STATUSES);

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

/** The agent sends only lists of addresses; mkr prints `ipAddress`. */
const hostInterface = anyObject.transform((entry) => {
  const [first] = Array.isArray(entry.ipv4Addresses) ? entry.ipv4Addresses : [];
  return entry.ipAddress === undefined && typeof first === 'string' ? { ...entry, ipAddress: first } : entry;
});

/** `null`, which Go writes for what is not set, and `""` are no identifier. */
const optionalName = text(0, 255)
  .nullish()
  .transform((value) => value || null);

/** Unknown fields are let be: agents of other releases send more. */
export const hostBody = z
  .object({
    name: text(1, 255),
    displayName: optionalName,
    customIdentifier: optionalName,
    memo: text(0, 250).nullish(),
    meta: anyObject.nullish(),
    interfaces: z.array(hostInterface).max(1000).nullish(),
    roleFullnames: roleFullnames.nullish(),
    /** Of check monitors, which there are none of yet. */
    checks: z.array(anyObject).max(1000).nullish(),
  })
  .transform(({ roleFullnames: roles, checks: _, ...spec }) => ({
    spec: {
      ...spec,
      memo: spec.memo ?? '',
      meta: spec.meta ?? {},
      interfaces: spec.interfaces ?? [],
    } satisfies HostSpec as HostSpec,
    roles: roles ?? [],
  }));

/** What a host's roles are to be. */
export type RoleFullname = z.output<typeof roleFullname>;

export const hostId = z.object({ id: z.string() });

export const host = z
  .object({
    id: z.string(),
    name: z.string(),
    displayName: z.string().nullable(),
    customIdentifier: z.string().nullable(),
    type: z.literal('unknown'),
    size: z.literal('standard'),
    status: hostStatus,
    memo: z.string(),
    roles: z
      .record(z.string(), z.array(z.string()))
      .meta({ description: 'Names of roles, by name of service.' }),
    isRetired: z.boolean(),
    retiredAt: epochSeconds.optional(),
    createdAt: epochSeconds,
    meta: anyObject.meta({ description: 'As posted.' }),
    interfaces: z.array(anyObject),
  })
  .meta({ id: 'Host' });

export const oneHost = z.object({ host });

export const hostQuery = z.object({
  service: z.string().optional(),
  role: z.array(z.string()).optional().meta({ description: 'Any of them; nothing without `service`.' }),
  name: z.string().optional(),
  status: z.array(hostStatus).optional().meta({ description: 'Any of them. Default: working, standby.' }),
  customIdentifier: z.string().optional(),
  limit: integerParameter
    .refine((value) => value >= 1 && value <= 10_000, { error: '1 to 10000' })
    .optional()
    .meta({ minimum: 1, maximum: 10_000, description: 'Hosts of a page, by id; beyond Mackerel.' }),
  nextId: z
    .string()
    .regex(/^[A-Za-z0-9]{1,64}$/)
    .optional()
    .meta({ description: "Of the page before; beyond Mackerel's API." }),
});

export const hostList = z.object({
  hosts: z.array(host).meta({ description: 'By name, or by id in pages. Never a retired one.' }),
  nextId: z.string().optional().meta({ description: 'Of a page that is not the last.' }),
});

export const identifierQuery = z.object({ caseInsensitive: z.enum(['true', 'false']).optional() });

export const statusBody = z.object({ status: hostStatus });
export const rolesBody = z.object({ roleFullnames });

const ids = z.array(z.string()).max(30);
export const bulkStatusBody = z.object({ ids, status: hostStatus });
export const bulkRetireBody = z.object({ ids });

export const monitoredStatuses = z.object({ monitoredStatuses: z.array(z.unknown()) });
