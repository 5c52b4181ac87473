import { type Api, HOST_STATUSES, type Host, type HostStatus } from '../api/api';
import { useHostStatus } from '../forms/use-host-status';
import { formatTime } from '../view/format';
import { encodeState, type ViewState } from '../view/view-state';
import { addressesOf, agentOf, typeOf } from './host-facts';

export interface HostDetailsProps {
  readonly api: Api;
  readonly host: Host;
  readonly state: ViewState;
  /** Called after the status changed. */
  readonly onChanged: () => void;
}

/** A host's details from the registry, and its status, which can be changed with the write right. */
export function HostDetails({ api, host, state, onChanged }: HostDetailsProps) {
  const roles = Object.entries(host.roles).flatMap(([service, names]) =>
    names.map((role) => `${service}:${role}`),
  );
  const status = host.isRetired ? 'retired' : host.status;
  const facts = [
    ['Id', host.id],
    ['Name', host.name],
    ['Type', typeOf(host)],
    ['Addresses', addressesOf(host).join(', ')],
    ['Agent', agentOf(host)],
    ['Memo', host.memo],
    ['Custom identifier', host.customIdentifier],
    ['Registered', host.createdAt === undefined ? undefined : formatTime(host.createdAt, state.utc)],
  ] as const;
  return (
    <details class="host">
      <summary>
        Details <span class={`status-${status}`}>{status}</span>
      </summary>
      <dl>
        {!host.isRetired && <StatusChoice key={host.id} api={api} host={host} onChanged={onChanged} />}
        {roles.length > 0 && (
          <div>
            <dt>Roles</dt>
            <dd>
              {roles.map((id) => (
                <a
                  key={id}
                  href={`#${encodeState({ ...state, source: { kind: 'role', id }, graphs: undefined, hidden: [] })}`}
                >
                  {id}
                </a>
              ))}
            </dd>
          </div>
        )}
        {facts.map(
          ([term, text]) =>
            text && (
              <div key={term}>
                <dt>{term}</dt>
                <dd>{text}</dd>
              </div>
            ),
        )}
      </dl>
    </details>
  );
}

/** A control that changes the status. A key without the write right gets an error. */
function StatusChoice({ api, host, onChanged }: Pick<HostDetailsProps, 'api' | 'host' | 'onChanged'>) {
  const { status, problem, change } = useHostStatus(api, host, onChanged);
  return (
    <div>
      <dt>
        <label for="host-status">Status</label>
      </dt>
      <dd>
        <select
          id="host-status"
          value={status}
          disabled={problem?.kind === 'right'}
          onChange={(event) => void change(event.currentTarget.value as HostStatus)}
        >
          {HOST_STATUSES.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
        {problem !== undefined && (
          <span class="problem" role="alert">
            {problem.message}
          </span>
        )}
      </dd>
    </div>
  );
}
