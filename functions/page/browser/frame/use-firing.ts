import { useState } from 'preact/hooks';
import { ALERTMANAGER_PATH, type Api } from '../api/api';
import { type OnSettled, usePolling } from './polling';

/**
 * Returns the number of alerts: those of rules that are firing and not silenced, and those of monitors and checks that
 * are open. Of the latter, at most 100 are counted. It is undefined until it is known.
 *
 * @param change a new value causes another read
 */
export function useFiring(api: Api, change: number, onSettled: OnSettled): number | undefined {
  const [count, setCount] = useState<number>();
  usePolling(
    [api, change],
    async () => {
      // Make the two requests one after the other, so that the graphs can use the other connections.
      const ofRules = await api.json<unknown[]>(`${ALERTMANAGER_PATH}/alerts?silenced=false`);
      const { alerts } = await api.json<{ alerts: unknown[] }>('/api/v0/alerts');
      return ofRules.length + alerts.length;
    },
    (found) => {
      setCount(found);
      return true;
    },
    // If a request is refused, the page is shown without the count.
    (error) => error?.kind !== 'refused' && onSettled(error),
  );
  return count;
}
