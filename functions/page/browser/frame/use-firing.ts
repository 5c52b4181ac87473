import { useState } from 'preact/hooks';
import { ALERTMANAGER_PATH, type Api } from '../api/api';
import { type OnAnswer, usePolling } from './polling';

/**
 * Returns the number of firing alerts of rules that are not silenced, and of open alerts of monitors and
 * checks, of these at most 100.
 *
 * @param change a different number causes another read
 */
export function useFiring(api: Api, change: number, onAnswer: OnAnswer): number {
  const [count, setCount] = useState(0);
  usePolling(
    [api, change],
    async () => {
      // One after the other, which leaves the other turns to the graphs.
      const ofRules = await api.json<unknown[]>(`${ALERTMANAGER_PATH}/alerts?silenced=false`);
      const { alerts } = await api.json<{ alerts: unknown[] }>('/api/v0/alerts');
      return ofRules.length + alerts.length;
    },
    (found) => {
      setCount(found);
      return true;
    },
    // If this is refused, the page is shown without the count.
    (error) => error?.kind !== 'refused' && onAnswer(error),
  );
  return count;
}
