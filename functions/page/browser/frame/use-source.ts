import { useMemo, useState } from 'preact/hooks';
import type { Api, Host } from '../api/api';
import { hostLabel, hostName, sharedNames } from '../side/host-text';
import type { SourceRef } from '../view/view-state';
import type { Lists } from './lists';
import { type OnSettled, usePolling } from './polling';
import { membersOf } from './use-graphs';

/** The source that the page shows, and what is known about it. */
export interface ShownSource {
  readonly ref: SourceRef;
  readonly name: string;
  /** The host, from the lists or the registry. Set if the source is a host that exists, retired or not. */
  readonly host?: Host;
  /** `unknown`: the tenant has no source with this name or id. `pending`: not known yet. */
  readonly existence: 'known' | 'retired' | 'unknown' | 'pending';
}

/**
 * Finds a source in the lists. A host that is not in the lists is looked up in the registry, which also has
 * retired hosts.
 */
export function useSource(
  api: Api,
  ref: SourceRef | undefined,
  lists: Lists | undefined,
  onSettled: OnSettled,
): ShownSource | undefined {
  const [unlisted, setUnlisted] = useState<{ readonly id: string; readonly host: Host | undefined }>();
  const listed = ref?.kind === 'host' ? lists?.hosts.find(({ id }) => id === ref.id) : undefined;
  const missing = ref?.kind === 'host' && lists !== undefined && listed === undefined ? ref.id : undefined;
  usePolling(
    [api, missing],
    async () => (missing === undefined ? undefined : { id: missing, host: await api.host(missing) }),
    (found) => {
      setUnlisted(found);
      return found?.host !== undefined;
    },
    onSettled,
  );
  const shared = useMemo(() => sharedNames(lists?.hosts ?? []), [lists?.hosts]);
  if (ref === undefined) return undefined;
  const existence = (isKnown: boolean) => (lists === undefined ? 'pending' : isKnown ? 'known' : 'unknown');
  switch (ref.kind) {
    case 'host': {
      if (listed !== undefined)
        return { ref, name: hostLabel(listed, shared), host: listed, existence: 'known' };
      if (unlisted?.id !== ref.id) return { ref, name: ref.id, existence: 'pending' };
      const { host } = unlisted;
      if (host === undefined) return { ref, name: ref.id, existence: 'unknown' };
      return { ref, name: hostName(host), host, existence: host.isRetired ? 'retired' : 'known' };
    }
    case 'service':
      return { ref, name: ref.id, existence: existence(lists?.services.includes(ref.id) ?? false) };
    case 'role':
      return { ref, name: ref.id, existence: existence(membersOf(ref, lists?.hosts ?? []).length > 0) };
    case 'labels':
      return { ref, name: ref.id, existence: 'known' };
  }
}

/** The first source in the lists, for an address that names none. */
export function firstSource({ hosts, services, labelled }: Lists): SourceRef | undefined {
  const [host] = hosts;
  if (host !== undefined) return { kind: 'host', id: host.id };
  if (services[0] !== undefined) return { kind: 'service', id: services[0] };
  return labelled[0] === undefined ? undefined : { kind: 'labels', id: labelled[0] };
}
