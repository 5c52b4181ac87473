import { useState } from 'preact/hooks';
import { ALERTMANAGER_PATH, type Api } from '../api/api';
import { type OnAnswer, usePolling } from './polling';

/**
 * How many alerts fire that no silence keeps quiet.
 *
 * @param change another number asks anew
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
    // A page without the count is better than none.
    (error) => error?.kind !== 'refused' && onAnswer(error),
  );
  return count;
}
