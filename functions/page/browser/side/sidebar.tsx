import { useMemo, useState } from 'preact/hooks';
import { type Graph, wordsOf } from '../graphs/graphs';
import { encodeState, type SourceRef, type ViewState } from '../view/view-state';
import { GraphPicker } from './graph-picker';
import { SourceList } from './source-list';
import { firstHit, foundIn, labelsEntry, type SourceSection } from './sources';

export interface SidebarProps {
  readonly state: ViewState;
  readonly sections: readonly SourceSection[];
  /** Graphs of the source that is shown. */
  readonly graphs: readonly Graph[];
  readonly onPick: (graphs: readonly string[] | undefined) => void;
  readonly onFind: (find: string) => void;
  readonly onFollow: () => void;
}

/** A searchable list of all sources, and the graphs of the shown source. */
export function Sidebar({ state, sections, graphs, onPick, onFind, onFollow }: SidebarProps) {
  const [search, setSearch] = useState('');
  const found = useMemo(() => {
    const listed = foundIn(sections, wordsOf(search));
    const labels = labelsEntry(search);
    return listed.length > 0 || labels === undefined ? listed : [{ title: 'By labels', entries: [labels] }];
  }, [sections, search]);
  const hrefOf = (source: SourceRef) =>
    `#${encodeState({ ...state, view: 'graphs', source, graphs: undefined, hidden: [] })}`;
  const openFirst = () => {
    const hit = firstHit(found, search);
    if (hit === undefined) return;
    location.hash = hrefOf(hit.source);
    onFollow();
  };
  return (
    <>
      <input
        id="search"
        type="search"
        placeholder="Search hosts and services"
        aria-label="Search hosts and services"
        value={search}
        onInput={(event) => setSearch(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Enter' && openFirst()}
      />
      {found.length === 0 && search !== '' && <p class="note">Nothing is called “{search}”.</p>}
      <SourceList sections={found} current={state.source} hrefOf={hrefOf} onFollow={onFollow} />
      {graphs.length > 0 && (
        <GraphPicker
          graphs={graphs}
          picked={state.graphs}
          find={state.find}
          onPick={onPick}
          onFind={onFind}
        />
      )}
    </>
  );
}
