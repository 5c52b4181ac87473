import { useMemo, useState } from 'preact/hooks';
import { Sidebar } from '../side/sidebar';
import { sectionsOf } from '../side/sources';
import { GraphsView } from './graphs-view';
import { NO_LISTS } from './lists';
import { Main } from './main';
import { useGraphs } from './use-graphs';
import { firstSource, useSource } from './use-source';
import type { ViewProps } from './views';

/** The list of sources, next to the graphs of one of them. */
export function Graphs(props: ViewProps) {
  const { api, state, lists, onChange, onSettled } = props;
  const { hosts, services, labelled, definitions } = lists ?? NO_LISTS;
  const sections = useMemo(() => sectionsOf(hosts, services, labelled), [hosts, services, labelled]);

  // If the address names no source, show the first one, without adding an entry to the browser's history.
  const ref = state.source ?? firstSource(lists ?? NO_LISTS);
  const source = useSource(api, ref, lists, onSettled);
  const graphs = useGraphs(api, ref, hosts, definitions, onSettled);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const side = (
    <aside class={isMenuOpen ? 'side open' : 'side'} aria-label="Sources and graphs">
      <button
        type="button"
        class="menu"
        aria-expanded={isMenuOpen}
        aria-controls="side-content"
        onClick={() => setMenuOpen(!isMenuOpen)}
      >
        <span>{source?.name ?? 'Hosts and services'}</span>
      </button>
      <div id="side-content">
        <Sidebar
          state={{ ...state, source: ref }}
          sections={sections}
          graphs={graphs ?? []}
          onPick={(names) => onChange({ graphs: names, source: ref })}
          onFind={(find) => onChange({ find }, { replace: true })}
          onFollow={() => setMenuOpen(false)}
        />
      </div>
    </aside>
  );
  return (
    <Main title={source?.name} side={side}>
      <GraphsView
        {...props}
        isEmpty={lists !== undefined && ref === undefined}
        source={source}
        graphs={graphs}
      />
    </Main>
  );
}
