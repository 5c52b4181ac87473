import { useState } from 'preact/hooks';
import type { Api, Host } from '../api/api';
import type { GraphDefinition } from '../graphs/graphs';
import { otherSources } from '../graphs/label-graphs';
import { hostName } from '../side/host-text';
import { byNature } from '../view/natural-order';
import { type OnSettled, usePolling } from './polling';

/** The tenant's sources and graph definitions, refreshed periodically. */
export interface Lists {
  readonly hosts: readonly Host[];
  readonly services: readonly string[];
  /** Sources other than Mackerel hosts and services: their labels as formatted by `labelsText`. */
  readonly labelled: readonly string[];
  readonly definitions: readonly GraphDefinition[];
}

export const NO_LISTS: Lists = { hosts: [], services: [], labelled: [], definitions: [] };

/**
 * Reads the tenant's lists, and reads them again at intervals. Returns undefined until the first response.
 *
 * @param change a new value causes another read
 */
export function useLists(api: Api, change: number, onSettled: OnSettled): Lists | undefined {
  // Undefined until the first response.
  const [lists, setLists] = useState<Lists>();
  usePolling(
    [api, change],
    async () => {
      const [hosts, services, definitions, sources] = await Promise.all([
        api.hosts(),
        api.services(),
        api.graphDefinitions(),
        api.sources(),
      ]);
      const labelled = otherSources(sources, new Set(hosts.map(({ id }) => id)), new Set(services));
      hosts.sort((a, b) => byNature(hostName(a), hostName(b)));
      return { hosts, services: services.sort(byNature), labelled, definitions };
    },
    (found) => {
      setLists((old) => (old === undefined ? found : keptLists(old, found)));
      return found.hosts.length + found.services.length + found.labelled.length > 0;
    },
    onSettled,
  );
  return lists;
}

/**
 * Returns the new lists. Lists that are equal to the old ones remain the same objects, so that they are not
 * drawn again.
 */
function keptLists(old: Lists, found: Lists): Lists {
  const kept = <T>(before: T, now: T): T => (JSON.stringify(before) === JSON.stringify(now) ? before : now);
  const lists = {
    hosts: kept(old.hosts, found.hosts),
    services: kept(old.services, found.services),
    labelled: kept(old.labelled, found.labelled),
    definitions: kept(old.definitions, found.definitions),
  };
  const isSame = (Object.keys(lists) as (keyof Lists)[]).every((name) => lists[name] === old[name]);
  return isSame ? old : lists;
}
