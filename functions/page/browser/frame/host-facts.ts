import type { Host } from '../api/api';

type Fields = Readonly<Record<string, unknown>>;

/** Returns the distinct addresses of a host's interfaces, except loopback addresses. */
export function addressesOf({ interfaces = [] }: Host): string[] {
  const all = interfaces.flatMap(({ ipAddress, ipv4Addresses, ipv6Addresses }) => [
    ...textsOf([ipAddress]),
    ...textsOf(ipv4Addresses),
    ...textsOf(ipv6Addresses),
  ]);
  return [...new Set(all)].filter((address) => !/^(127\.|::1$)/.test(address));
}

/** Returns the agent's name and version; empty if the agent did not post them. */
export function agentOf({ meta = {} }: Host): string {
  const [name = ''] = textsOf([meta['agent-name']]);
  const [version = ''] = textsOf([meta['agent-version']]);
  return name.includes(version) ? name : `${name} ${version}`.trim();
}

/** Describes the machine: operating system, processors and memory; empty if the agent did not post them. */
export function typeOf({ meta = {} }: Host): string {
  const kernel = fieldsOf(meta.kernel);
  const platform = textsOf([kernel.platform_name, kernel.platform_version]).join(' ');
  const system = textsOf([kernel.name ?? kernel.os, kernel.release]).join(' ');
  const count = Array.isArray(meta.cpu) ? meta.cpu.length : 0;
  const memory = textsOf([fieldsOf(meta.memory).total])[0];
  return [
    platform || system,
    platform && system,
    count === 0 ? '' : `${count} ${count === 1 ? 'processor' : 'processors'}`,
    memory === undefined ? '' : `memory ${memory}`,
  ]
    .filter(Boolean)
    .join(', ');
}

/** Returns the non-empty strings of a list. The values may be anything, because agents may post any JSON here. */
function textsOf(values: unknown): string[] {
  return Array.isArray(values)
    ? values.filter((value): value is string => typeof value === 'string' && value !== '')
    : [];
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}
