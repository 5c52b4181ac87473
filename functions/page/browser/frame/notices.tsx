import type { ComponentChildren } from 'preact';
import { formatTime } from '../view/format';
import type { ShownSource } from './use-source';

export function NoHosts() {
  return (
    <div class="empty-page">
      <h2>No host has posted yet</h2>
      <p>Point mackerel-agent here in its configuration:</p>
      <pre>
        apibase = "{location.origin}"{'\n'}apikey = "a key with the write right"
      </pre>
      <p>Or post by hand, as the README shows. New hosts appear here seconds after their first post.</p>
    </div>
  );
}

/** Explains why a source has no graphs. */
export function NoGraphs({ source }: { readonly source: ShownSource }) {
  const { ref, name, existence } = source;
  const { kind } = ref;
  if (existence === 'unknown')
    return (
      <div class="empty-page">
        <h2>
          There is no {kind} “{name}”
        </h2>
        <p>
          {ref.kind === 'role'
            ? 'No host has this role. It may have been removed, or the link mistyped.'
            : `It may have been deleted, or the link may be mistyped or belong to another tenant. Choose one from the list.`}
        </p>
      </div>
    );
  if (existence === 'retired')
    return (
      <div class="empty-page">
        <h2>This host has no metrics</h2>
        <p>It was retired before it posted any.</p>
      </div>
    );
  if (ref.kind === 'labels')
    return (
      <div class="empty-page">
        <h2>No series has the labels {name}</h2>
        <p>They may be mistyped, or no such series has been posted.</p>
      </div>
    );
  return (
    <div class="empty-page">
      <h2>This {kind} has no metrics yet</h2>
      <p>They appear here seconds after the first post.</p>
    </div>
  );
}

export function RetiredNotice({ source, utc }: { readonly source: ShownSource; readonly utc: boolean }) {
  const { retiredAt } = source.host!;
  return (
    <p class="notice">
      This host was retired{retiredAt === undefined ? '' : ` at ${formatTime(retiredAt, utc)}`}. Its posts are
      rejected, at the latest an hour later. Its samples stay until their retention ends.
    </p>
  );
}

/** Explains that the source has none of the graphs that were picked or searched for. */
export function NoneShown({
  count,
  find,
  onShowAll,
}: {
  readonly count: number;
  readonly find: string;
  readonly onShowAll: () => void;
}) {
  return (
    <p class="empty-page">
      {find === '' ? 'This source does not have the graphs in the link.' : `No graph has “${find}”.`}{' '}
      <button type="button" class="quiet" onClick={onShowAll}>
        Show all {count}
      </button>
    </p>
  );
}

export function Waiting({ children }: { readonly children: ComponentChildren }) {
  return (
    <p class="empty-page" aria-busy="true">
      {children}
    </p>
  );
}
