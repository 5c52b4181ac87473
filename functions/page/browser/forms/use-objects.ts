import { useState } from 'preact/hooks';
import type { Api } from '../api/api';
import { type ObjectKind, type Objects, readObjects } from '../api/monitoring';
import { type OnSettled, usePolling } from '../frame/polling';

/**
 * Time between two reads, in ms. Objects change rarely, and the page reads them again after each change that it makes
 * itself.
 */
const EVERY_MS = 60_000;

/**
 * Reads all objects of a kind. Returns undefined until the first response, and after each change until the objects have
 * been read again.
 *
 * @param change a new value causes another read
 */
export function useObjects<K extends ObjectKind>(
  api: Api,
  kind: K,
  change: number,
  onSettled: OnSettled,
): readonly Objects[K][] | undefined {
  const [read, setRead] = useState<{ readonly objects: readonly Objects[K][]; readonly change: number }>();
  usePolling(
    [api, kind, change],
    () => readObjects(api, kind),
    (objects) => {
      setRead((old) =>
        JSON.stringify(old) === JSON.stringify({ objects, change }) ? old : { objects, change },
      );
      return true;
    },
    onSettled,
    EVERY_MS,
  );
  return read?.change === change ? read.objects : undefined;
}
