import { useState } from 'preact/hooks';
import { ALERTMANAGER_PATH, type Api } from '../api/api';
import { type OnAnswer, usePolling } from './polling';

/**
 * Returns the number of alerts: firing ones of rules that are not silenced, and open ones of monitors and
 * checks. At most 100 alerts of monitors and checks are counted.
 *
 * @param change a different number causes another read
 */
export function useFiring(api: Api, change: number, onAnswer: OnAnswer): number {
  const [count, setCount] = useState(0);
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
    (error) => error?.kind !== 'refused' && onAnswer(error),
  );
  return count;
}
