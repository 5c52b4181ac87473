import { useId, useRef } from 'preact/hooks';
import { type Api, HOST_STATUSES, type Host, type HostStatus } from '../api/api';
import { ConfirmButton } from '../forms/confirm-button';
import { OpenCount } from '../forms/lists';
import { useHostStatus } from '../forms/use-host-status';
import { Breakable } from '../view/breakable';
import { formatDuration } from '../view/format';
import { encodeState, INITIAL_STATE, type SourceRef, type ViewState } from '../view/view-state';
import { LOOKBACK_S } from './last-seen';

export interface HostCardProps {
  readonly api: Api;
  readonly host: Host;
  readonly name: string;
  readonly state: ViewState;
  /**
   * Time of the host's last post, as Unix time in seconds; null if it has not posted lately, undefined until
   * it is known.
   */
  readonly seenS: number | null | undefined;
  readonly nowS: number;
  readonly alertCount: number;
  readonly onChanged: () => void;
}

/** The card of a host: links to its graphs, its status, roles, last post and open alerts. */
export function HostCard(props: HostCardProps) {
  const { api, host, name, state, alertCount, onChanged } = props;
  const { status, problem, change } = useHostStatus(api, host, onChanged);
  const statusId = useId();
  const card = useRef<HTMLElement>(null);
  const roles = Object.entries(host.roles).flatMap(([service, names]) =>
    names.map((role) => `${service}:${role}`),
  );
  return (
    <article class={`card object-card host-card status-${host.status}`} aria-label={name} ref={card}>
      <header>
        <h2>
          <a href={graphsOf(state, { kind: 'host', id: host.id })}>
            <Breakable text={name} />
          </a>
        </h2>
        <OpenCount count={alertCount} state={state} />
        <span class="note">{seenText(props)}</span>
      </header>
      {roles.length > 0 && (
        <ul class="labels" aria-label="Roles">
          {roles.map((id) => (
            <li key={id}>
              <a href={graphsOf(state, { kind: 'role', id })}>{id}</a>
            </li>
          ))}
        </ul>
      )}
      {host.memo && <p class="note">{host.memo}</p>}
      <div class="buttons">
        <label for={statusId}>Status</label>
        <select
          id={statusId}
          value={status}
          onChange={(event) => void change(event.currentTarget.value as HostStatus)}
        >
          {HOST_STATUSES.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
        <ConfirmButton
          label="Retire"
          question="Retire the host for ever? Its posts are rejected within an hour, and its alerts close."
          onConfirm={async () => {
            await api.retire(host.id);
            // If the focus is in the card, move it: the card is about to leave the list, and the focus would be lost
            // with it.
            if (card.current?.contains(document.activeElement))
              document.getElementById('main')?.focus({ preventScroll: true });
            onChanged();
          }}
        />
      </div>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem.message}
        </p>
      )}
    </article>
  );
}

/** Returns the address of a source's graphs, in the range that is shown. */
function graphsOf({ range, utc }: ViewState, source: SourceRef): string {
  return `#${encodeState({ ...INITIAL_STATE, range, utc, source })}`;
}

function seenText({ seenS, nowS }: HostCardProps): string {
  if (seenS === undefined) return '';
  if (seenS === null) return `no post in the last ${formatDuration(LOOKBACK_S * 1000)}`;
  const agoMs = (nowS - seenS) * 1000;
  return agoMs < 1000 ? 'posted just now' : `posted ${formatDuration(agoMs)} ago`;
}
