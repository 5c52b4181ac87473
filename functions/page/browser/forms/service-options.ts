import type { ServiceRoles } from '../api/monitoring';

type Options = readonly (readonly [value: string, text: string])[];

export function serviceOptions(services: readonly ServiceRoles[]): Options {
  return services.map(({ name }) => [name, name] as const);
}

/** Returns an option for each role, written as in Mackerel's API: `service: role`. */
export function roleOptions(services: readonly ServiceRoles[]): Options {
  return services.flatMap(({ name, roles }) =>
    roles.map((role) => [`${name}: ${role}`, `${name}: ${role}`] as const),
  );
}

/** Returns an option for each possible scope: the services, each followed by its roles. */
export function scopeOptions(services: readonly ServiceRoles[]): Options {
  return services.flatMap((service) => [...serviceOptions([service]), ...roleOptions([service])]);
}
