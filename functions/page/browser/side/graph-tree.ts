import type { Graph } from '../graphs/graphs';

/** Graphs, grouped by the parts of their names. */
export interface TreeNode {
  /** A part of the name; or several parts, if there is only one branch. */
  readonly label: string;
  /** All parts of the name up to this node. */
  readonly path: string;
  readonly graph: Graph | undefined;
  readonly children: readonly TreeNode[];
}

export function treeOf(graphs: readonly Graph[]): TreeNode[] {
  const groups = new Map<string, Graph[]>();
  for (const graph of graphs) {
    const [head] = graph.path;
    groups.set(head!, [...(groups.get(head!) ?? []), graph]);
  }
  return [...groups].map(([head, inside]) => nodeOf(head, head, inside, 1));
}

function nodeOf(label: string, path: string, graphs: readonly Graph[], depth: number): TreeNode {
  if (graphs.length === 1) return { label: graphs[0]!.title, path, graph: graphs[0], children: [] };
  const here = graphs.find((graph) => graph.path.length === depth);
  const groups = new Map<string, Graph[]>();
  for (const graph of graphs) {
    if (graph === here) continue;
    const part = graph.path[depth]!;
    groups.set(part, [...(groups.get(part) ?? []), graph]);
  }
  if (here === undefined && groups.size === 1) {
    const [[part, inside]] = [...groups] as [[string, Graph[]]];
    return nodeOf(`${label}.${part}`, `${path}.${part}`, inside, depth + 1);
  }
  const children = [...groups].map(([part, inside]) => nodeOf(part, `${path}.${part}`, inside, depth + 1));
  return { label: here?.title ?? label, path, graph: here, children };
}
