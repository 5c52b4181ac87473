import { SearchField } from '../view/search-field';
// Keep these imports first. Other modules use the language while they load, and the bundler loads modules in the order
// of imports.
import '../language';
import '../frame/shared-file';
import '../forms/form-style';
import { useState } from 'preact/hooks';
import { HOST_STATUSES, type Host } from '../api/api';
import { filtersWith, hasWords } from '../forms/lists';
import { countedBy, useOpenAlerts } from '../forms/use-open-alerts';
import { useNow } from '../frame/polling';
import type { ViewProps } from '../frame/views';
import { hostLabel, hostName, sharedNames } from '../side/host-text';
import { Choice } from '../view/choice';
import { counted } from '../view/format';
import { byNature } from '../view/natural-order';
import type { ViewState } from '../view/view-state';
import { HostCard } from './host-card';
import { useLastSeen } from './last-seen';

/** Maximum number of hosts in the list. Other hosts can be found with the filters. */
const MAX_SHOWN = 200;
/** Interval at which the view refreshes the current time, in seconds. */
const CLOCK_S = 15;

/** Lists the hosts. A user with a key that may write changes their status or retires them here. */
export function HostsView(props: ViewProps) {
  const { api, state, lists, onSettled, onChange, onListsChanged } = props;
  const { filters } = state;
  const [problem, setProblem] = useState<string>();
  const noteSettled: ViewProps['onSettled'] = (error) => {
    setProblem(error?.message);
    if (error?.kind !== 'refused') onSettled(error);
  };
  const hosts = lists?.hosts;
  const seen = useLastSeen(api, hosts, noteSettled);
  const alertCounts = countedBy(useOpenAlerts(api, noteSettled) ?? [], 'hostId');
  const nowS = useNow(CLOCK_S);
  const filter = (name: string, value: string) =>
    onChange({ filters: filtersWith(filters, name, value) }, { replace: true });
  const shared = sharedNames(hosts ?? []);
  const shown = (hosts ?? []).filter((host) => isShown(host, filters));
  const services = [...new Set((hosts ?? []).flatMap(({ roles }) => Object.keys(roles)))].sort(byNature);
  const service = filters['host.service'] ?? '';
  const roles = [...new Set((hosts ?? []).flatMap((host) => host.roles[service] ?? []))].sort(byNature);
  return (
    <section class="objects hosts" aria-busy={lists === undefined}>
      <h1 class="heading">Hosts</h1>
      {problem !== undefined && (
        <p class="notice" role="alert">
          {problem}
        </p>
      )}
      <div class="filters">
        <SearchField
          label="Find hosts"
          value={filters['host.text'] ?? ''}
          onInput={(value) => filter('host.text', value)}
        />
        <Choice
          label="Status"
          value={filters['host.status'] ?? ''}
          options={[['', 'all'], ...HOST_STATUSES.map((each) => [each, each] as const)]}
          onChoose={(value) => filter('host.status', value)}
        />
        <Choice
          label="Service"
          value={service}
          options={[['', 'all'], ...services.map((each) => [each, each] as const)]}
          onChoose={(value) =>
            onChange(
              { filters: filtersWith(filtersWith(filters, 'host.role', ''), 'host.service', value) },
              { replace: true },
            )
          }
        />
        {roles.length > 0 && (
          <Choice
            label="Role"
            value={filters['host.role'] ?? ''}
            options={[['', 'all'], ...roles.map((each) => [each, each] as const)]}
            onChoose={(value) => filter('host.role', value)}
          />
        )}
      </div>
      {hosts === undefined ? (
        <p class="note">reading …</p>
      ) : (
        <p class="note" role="status">
          {shown.length === hosts.length
            ? counted(hosts.length, 'host')
            : `${shown.length} of ${counted(hosts.length, 'host')}`}
          {shown.length > MAX_SHOWN && `; the first ${MAX_SHOWN} are listed`}
        </p>
      )}
      <ul class="list">
        {shown.slice(0, MAX_SHOWN).map((host) => (
          <li key={host.id}>
            <HostCard
              api={api}
              host={host}
              name={hostLabel(host, shared)}
              state={state}
              seenS={seen === undefined ? undefined : (seen.get(host.id) ?? null)}
              nowS={nowS}
              alertCount={alertCounts.get(host.id) ?? 0}
              onChanged={onListsChanged}
            />
          </li>
        ))}
      </ul>
    </section>
  );
}

function isShown(host: Host, filters: ViewState['filters']): boolean {
  const { id, name, memo = '', status, customIdentifier, roles } = host;
  const { 'host.status': wanted, 'host.service': service, 'host.role': role } = filters;
  const roleTexts = Object.entries(roles).flatMap(([each, names]) => [each, ...names]);
  const text = [id, name, hostName(host), memo, customIdentifier ?? '', ...roleTexts].join(' ');
  return (
    hasWords(text, filters['host.text']) &&
    (wanted === undefined || status === wanted) &&
    (service === undefined || Object.hasOwn(roles, service)) &&
    (role === undefined || (roles[service ?? ''] ?? []).includes(role))
  );
}
