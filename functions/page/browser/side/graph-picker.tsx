import { useMemo } from 'preact/hooks';
import { type Graph, graphHas, wordsOf } from '../graphs/graphs';
import { Breakable } from '../view/breakable';
import { SearchField } from '../view/search-field';
import { type TreeNode, treeOf } from './graph-tree';

export interface GraphPickerProps {
  readonly graphs: readonly Graph[];
  /** Names of the picked graphs; undefined if all are shown. */
  readonly picked: readonly string[] | undefined;
  readonly find: string;
  readonly onPick: (graphs: readonly string[] | undefined) => void;
  readonly onFind: (find: string) => void;
}

/** A tree for picking the graphs to show. */
export function GraphPicker({ graphs, picked, find, onPick, onFind }: GraphPickerProps) {
  const words = wordsOf(find);
  const found = useMemo(() => graphs.filter((graph) => graphHas(graph, words)), [graphs, find]);
  const tree = useMemo(() => treeOf(found), [found]);
  const isPicked = (name: string) => picked === undefined || picked.includes(name);
  const pick = (names: readonly string[], isWanted: boolean) => {
    const others = graphs.map(({ name }) => name).filter((name) => isPicked(name) && !names.includes(name));
    const chosen = isWanted ? [...others, ...names] : others;
    onPick(chosen.length === graphs.length || chosen.length === 0 ? undefined : chosen);
  };
  return (
    <fieldset class="tree">
      <legend>Graphs</legend>
      <SearchField label="Search metrics" value={find} onInput={onFind} />
      <p class="note">
        {found.length === graphs.length ? `${graphs.length}` : `${found.length} of ${graphs.length}`}{' '}
        {graphs.length === 1 ? 'graph' : 'graphs'}
        {picked !== undefined && (
          <button type="button" class="quiet" onClick={() => onPick(undefined)}>
            Show all {graphs.length}
          </button>
        )}
      </p>
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
          <span>
            <Breakable text={node.label} />
          </span>
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
