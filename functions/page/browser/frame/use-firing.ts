import { useState } from 'preact/hooks';
import { ALERTMANAGER_PATH, type Api } from '../api/api';
import { type OnAnswer, usePolling } from './polling';

/**
 * Returns the number of firing alerts that are not silenced.
 *
 * @param change a different number causes another read
 */
export function useFiring(api: Api, change: number, onAnswer: OnAnswer): number {
  const [count, setCount] = useState(0);
  usePolling(
    [api, change],
    () => api.json<unknown[]>(`${ALERTMANAGER_PATH}/alerts?silenced=false`),
    (alerts) => {
      setCount(alerts.length);
      return true;
    },
    // If this is refused, the page is shown without the count.
    (error) => error?.kind !== 'refused' && onAnswer(error),
  );
  return count;
}
