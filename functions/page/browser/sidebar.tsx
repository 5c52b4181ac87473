import { useMemo, useState } from 'preact/hooks';
import type { Host } from './api';
import { type Graph, type TreeNode, treeOf } from './graphs';
import { encodeState, type SourceRef, type ViewState } from './view-state';

export interface SidebarProps {
  readonly state: ViewState;
  readonly hosts: readonly Host[];
  readonly services: readonly string[];
  /** Of the source that is looked at. */
  readonly graphs: readonly Graph[];
  readonly onPick: (graphs: readonly string[] | undefined) => void;
  readonly onFollow: () => void;
}

/** Most entries of a list; more are found by searching. */
const MAX_LISTED = 100;

/** Hosts and services with a search over both, and the graphs of the one that is looked at. */
export function Sidebar({ state, hosts, services, graphs, onPick, onFollow }: SidebarProps) {
  const [search, setSearch] = useState('');
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (text: string) => words.every((word) => text.toLowerCase().includes(word));
  const found = {
    host: hosts
      .filter((host) => matches(textOf(host)))
      .map((host) => ({ id: host.id, label: hostName(host), note: noteOf(host) })),
    service: services.filter(matches).map((name) => ({ id: name, label: name, note: '' })),
  };
  const none = found.host.length + found.service.length === 0;
  return (
    <>
      <input
        id="search"
        type="search"
        placeholder="Search hosts and services"
        aria-label="Search hosts and services"
        value={search}
        onInput={(event) => setSearch(event.currentTarget.value)}
      />
      {none && search !== '' && <p class="note">Nothing is called “{search}”.</p>}
      {(['host', 'service'] as const).map(
        (kind) =>
          found[kind].length > 0 && (
            <nav key={kind} aria-label={kind === 'host' ? 'Hosts' : 'Services'}>
              <h2>{kind === 'host' ? 'Hosts' : 'Services'}</h2>
              <ul class="sources">
                {found[kind].slice(0, MAX_LISTED).map(({ id, label, note }) => {
                  const isHere = state.source?.kind === kind && state.source.id === id;
                  return (
                    <li key={id}>
                      <a
                        href={hrefOf(state, { kind, id })}
                        aria-current={isHere ? 'page' : undefined}
                        onClick={onFollow}
                      >
                        <span>{label}</span>
                        {note !== '' && <small>{note}</small>}
                      </a>
                    </li>
                  );
                })}
              </ul>
              {found[kind].length > MAX_LISTED && (
                <p class="note">{found[kind].length - MAX_LISTED} more: search to narrow them down.</p>
              )}
            </nav>
          ),
      )}
      {graphs.length > 0 && <GraphPicker graphs={graphs} picked={state.graphs} onPick={onPick} />}
    </>
  );
}

interface GraphPickerProps {
  readonly graphs: readonly Graph[];
  readonly picked: readonly string[] | undefined;
  readonly onPick: SidebarProps['onPick'];
}

/** The metric tree: which graphs are shown. */
function GraphPicker({ graphs, picked, onPick }: GraphPickerProps) {
  const tree = useMemo(() => treeOf(graphs), [graphs]);
  const isPicked = (name: string) => picked === undefined || picked.includes(name);
  const pick = (names: readonly string[], isWanted: boolean) => {
    const others = graphs.map(({ name }) => name).filter((name) => isPicked(name) && !names.includes(name));
    const chosen = isWanted ? [...others, ...names] : others;
    onPick(chosen.length === graphs.length || chosen.length === 0 ? undefined : chosen);
  };
  return (
    <fieldset class="tree">
      <legend>Graphs</legend>
      <button type="button" class="quiet" disabled={picked === undefined} onClick={() => onPick(undefined)}>
        Show all {graphs.length}
      </button>
      <ul>
        {tree.map((node) => (
          <Branch key={node.path} node={node} isPicked={isPicked} pick={pick} only={onPick} />
        ))}
      </ul>
    </fieldset>
  );
}

interface BranchProps {
  readonly node: TreeNode;
  readonly isPicked: (name: string) => boolean;
  readonly pick: (names: readonly string[], isWanted: boolean) => void;
  readonly only: (names: readonly string[]) => void;
}

function Branch({ node, isPicked, pick, only }: BranchProps) {
  const names = namesIn(node);
  const count = names.filter(isPicked).length;
  return (
    <li>
      <div class="branch">
        <label>
          <input
            type="checkbox"
            checked={count === names.length}
            ref={(element) => {
              if (element !== null) element.indeterminate = count > 0 && count < names.length;
            }}
            onChange={(event) => pick(names, event.currentTarget.checked)}
          />
          <span>{node.label}</span>
        </label>
        <button
          type="button"
          class="quiet only"
          aria-label={`Show only ${node.label}`}
          onClick={() => only(names)}
        >
          only
        </button>
      </div>
      {node.children.length > 0 && (
        <ul>
          {node.children.map((child) => (
            <Branch key={child.path} node={child} isPicked={isPicked} pick={pick} only={only} />
          ))}
        </ul>
      )}
    </li>
  );
}

function namesIn({ graph, children }: TreeNode): string[] {
  return [...(graph === undefined ? [] : [graph.name]), ...children.flatMap(namesIn)];
}

export function hostName({ name, displayName }: Host): string {
  return displayName || name;
}

function noteOf({ status, roles }: Host): string {
  const names = Object.entries(roles).flatMap(([service, all]) => all.map((role) => `${service}:${role}`));
  return [...(status === 'working' ? [] : [status]), ...names].join(', ');
}

function textOf(host: Host): string {
  return `${hostName(host)} ${host.name} ${host.id} ${noteOf(host)}`;
}

function hrefOf(state: ViewState, source: SourceRef): string {
  return `#${encodeState({ ...state, view: 'graphs', source, graphs: undefined })}`;
}
