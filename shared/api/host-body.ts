import * as z from 'zod';
import type { HostSpec } from '../meta/hosts';
import { SERVICE_NAME } from '../meta/services';
import { HttpError } from './http';

const object = z.record(z.string(), z.unknown());

const roleFullname = z.string().transform((text, context) => {
  const [service, role, ...rest] = text.split(':').map((part) => part.trim());
  if (
    service !== undefined &&
    role !== undefined &&
    rest.length === 0 &&
    SERVICE_NAME.test(service) &&
    SERVICE_NAME.test(role)
  )
    return [service, role] as const;
  context.addIssue({ code: 'custom', message: `${JSON.stringify(text.slice(0, 130))} is not service:role` });
  return z.NEVER;
});

const MAX_HOST_BYTES = 256 * 1024;

/** Unknown fields are let be: agents of other releases send more. `null` is an absent field, as Go writes one. */
const bodySchema = z.object({
  name: z.string().min(1).max(255),
  displayName: z.string().max(255).nullish(),
  customIdentifier: z.string().max(255).nullish(),
  memo: z.string().max(250).nullish(),
  meta: object.nullish(),
  interfaces: z.array(object).max(1000).nullish(),
  roleFullnames: z.array(roleFullname).max(1000).nullish(),
});

/**
 * Reads the body of a host's creation or update.
 *
 * @throws {HttpError} 400, naming the field
 */
export function parseHostBody(body: unknown): HostSpec {
  const result = bodySchema.safeParse(body);
  if (!result.success) {
    const issues = result.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`);
    throw new HttpError(400, issues.slice(0, 5).join('; '));
  }
  const { name, displayName, customIdentifier, memo, meta, interfaces, roleFullnames } = result.data;
  return checkedSize({
    name,
    displayName: displayName || null,
    customIdentifier: customIdentifier || null,
    memo: memo ?? '',
    meta: meta ?? {},
    interfaces: (interfaces ?? []).map(withIpAddress),
    roles: rolesOf(roleFullnames ?? []),
  });
}

/**
 * A host that fits an item, and can be written as JSON again.
 *
 * @throws {HttpError} 413 or 400
 */
export function checkedSize<T extends HostSpec>(host: T): T {
  let bytes: number;
  try {
    bytes = Buffer.byteLength(JSON.stringify(host));
  } catch {
    throw new HttpError(400, 'body: nested too deep');
  }
  if (bytes > MAX_HOST_BYTES)
    throw new HttpError(413, `the host has ${bytes} bytes, ${MAX_HOST_BYTES} at most`);
  return host;
}

function rolesOf(pairs: readonly (readonly [string, string])[]): Record<string, string[]> {
  const roles = new Map<string, Set<string>>();
  for (const [service, role] of pairs) roles.set(service, (roles.get(service) ?? new Set()).add(role));
  return Object.fromEntries([...roles].map(([service, names]) => [service, [...names].sort()]));
}

/** The agent sends only lists of addresses; mkr prints `ipAddress`. */
function withIpAddress(entry: Record<string, unknown>): Record<string, unknown> {
  const [first] = Array.isArray(entry.ipv4Addresses) ? entry.ipv4Addresses : [];
  return entry.ipAddress === undefined && typeof first === 'string' ? { ...entry, ipAddress: first } : entry;
}
