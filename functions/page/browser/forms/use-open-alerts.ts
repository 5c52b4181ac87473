import { useState } from 'preact/hooks';
import type { AlertRecord } from '../../../../shared/monitors/alert-record';
import type { Api } from '../api/api';
import { readOpenAlerts } from '../api/monitoring';
import { type OnSettled, usePolling } from '../frame/polling';

/** Reads the open alerts of monitors and checks. Returns undefined until the first response. */
export function useOpenAlerts(api: Api, onSettled: OnSettled): readonly AlertRecord[] | undefined {
  const [alerts, setAlerts] = useState<readonly AlertRecord[]>();
  usePolling(
    [api],
    () => readOpenAlerts(api),
    (found) => {
      setAlerts((old) => (JSON.stringify(old) === JSON.stringify(found) ? old : found));
      return true;
    },
    onSettled,
  );
  return alerts;
}

/** Counts alerts by a field. */
export function countedBy(
  alerts: readonly AlertRecord[],
  field: 'monitorId' | 'hostId',
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { [field]: key } of alerts) if (key !== undefined) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}
