import { useState } from 'preact/hooks';
import { ALERTMANAGER_PATH, type Api } from '../api/api';
import { type OnSettled, usePolling } from './polling';

/**
 * Returns the number of alerts that need attention: rules' alerts that are firing and not silenced, plus open alerts of
 * monitors and checks (at most 100 of these). Undefined until it is known.
 *
 * @param change a new value causes another read
 */
export function useFiring(api: Api, change: number, onSettled: OnSettled): number | undefined {
  const [count, setCount] = useState<number>();
  usePolling(
    [api, change],
    async () => {
      // Make the two requests one at a time, so that the graphs can use the other connections.
      const ofRules = await api.json<unknown[]>(`${ALERTMANAGER_PATH}/alerts?silenced=false`);
      const { alerts } = await api.json<{ alerts: unknown[] }>('/api/v0/alerts');
      return ofRules.length + alerts.length;
    },
    (found) => {
      setCount(found);
      return true;
    },
    // If the server refuses a request, the page is shown without the count.
    (error) => error?.kind !== 'refused' && onSettled(error),
  );
  return count;
}
