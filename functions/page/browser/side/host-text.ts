import type { Host } from '../api/api';

export function hostName({ name, displayName }: Host): string {
  return displayName || name;
}

/** Returns the names that more than one host has. */
export function sharedNames(hosts: readonly Host[]): ReadonlySet<string> {
  const seen = new Set<string>();
  return new Set(hosts.map(hostName).filter((name) => seen.size === seen.add(name).size));
}

/** Returns a host's name, with its id if another host has the same name. */
export function hostLabel(host: Host, shared: ReadonlySet<string>): string {
  const name = hostName(host);
  return shared.has(name) ? `${name} (${host.id})` : name;
}

/** Describes a host: its id if requested, its status unless `working`, and its roles as `service:role`. */
export function hostNote({ id, status, roles }: Host, withId: boolean): string {
  const names = Object.entries(roles).flatMap(([service, all]) => all.map((role) => `${service}:${role}`));
  return [...(withId ? [id] : []), ...(status === 'working' ? [] : [status]), ...names].join(', ');
}
