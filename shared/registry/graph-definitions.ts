import { type Id, idOf } from '../model/id';
import type { Table } from '../platform/table';
import { Documents } from './documents';

/** How to draw a graph of host metrics, as declared by a plugin. */
export interface GraphDefinition {
  /** The metric names up to the last dot. `*` and `#` each match one part. */
  readonly name: string;
  readonly displayName: string;
  readonly unit: string;
  readonly metrics: readonly {
    readonly name: string;
    readonly displayName: string;
    readonly isStacked: boolean;
  }[];
}

/** Stores the graph definitions of a tenant, by a hash of their name. */
export class GraphDefinitions {
  private readonly definitions: Documents<GraphDefinition>;

  constructor(table: Table) {
    this.definitions = new Documents(table, 'graph-definitions');
  }

  /** Creates a definition, or replaces the one with the same name. */
  async put(tenantId: Id, definition: GraphDefinition): Promise<void> {
    await this.definitions.createOrChange(tenantId, keyOf(definition.name), () => definition);
  }

  /** Returns all definitions, sorted by name. */
  async list(tenantId: Id): Promise<GraphDefinition[]> {
    return (await this.definitions.all(tenantId)).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Removes a graph definition. Returns it, or undefined when there was none. */
  remove(tenantId: Id, name: string): Promise<GraphDefinition | undefined> {
    return this.definitions.remove(tenantId, keyOf(name));
  }
}

function keyOf(name: string): string {
  return idOf('graphDefinition', name);
}
