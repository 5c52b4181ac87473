import { useState } from 'preact/hooks';
import type { Api } from '../api/api';
import { readServices, type ServiceRoles } from '../api/monitoring';
import { type OnSettled, usePolling } from '../frame/polling';

/** Time between two reads, in ms. */
const EVERY_MS = 60_000;

/** Reads the services with their roles. Returns none until the first response. */
export function useServices(api: Api, onSettled: OnSettled): readonly ServiceRoles[] {
  const [services, setServices] = useState<readonly ServiceRoles[]>([]);
  usePolling(
    [api],
    () => readServices(api),
    (found) => {
      setServices((old) => (JSON.stringify(old) === JSON.stringify(found) ? old : found));
      return true;
    },
    onSettled,
    EVERY_MS,
  );
  return services;
}
