import type { Host } from '../api/api';

export function hostName({ name, displayName }: Host): string {
  return displayName || name;
}

/** A host's status unless it works, and its roles as `service:role`. */
export function hostNote({ status, roles }: Host): string {
  const names = Object.entries(roles).flatMap(([service, all]) => all.map((role) => `${service}:${role}`));
  return [...(status === 'working' ? [] : [status]), ...names].join(', ');
}
