import { useState } from 'preact/hooks';
import type { AlertRecord } from '../../../../shared/monitors/alert-record';
import type { Api } from '../api/api';
import { readOpenAlerts } from '../api/monitoring';
import { type OnSettled, usePolling } from '../frame/polling';

export interface OpenAlerts {
  /** The open alerts; undefined until the first response. */
  readonly alerts?: readonly AlertRecord[];
  /** Message of the error if the alerts cannot be read. */
  readonly problem?: string;
}

/**
 * Reads the open alerts once for all widgets of a dashboard.
 *
 * @param isWanted whether any widget shows them
 */
export function useWidgetAlerts(api: Api, isWanted: boolean, onSettled: OnSettled): OpenAlerts {
  const [openAlerts, setOpenAlerts] = useState<OpenAlerts>({});
  usePolling(
    [api, isWanted],
    async () => (isWanted ? readOpenAlerts(api) : []),
    (alerts) => {
      setOpenAlerts({ alerts });
      return true;
    },
    (error) => {
      if (error?.kind === 'refused') setOpenAlerts({ problem: error.message });
      else if (isWanted) onSettled(error);
    },
  );
  return openAlerts;
}
