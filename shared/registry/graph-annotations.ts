import type { Id } from '../model/id';
import { isGivenId, randomId } from '../model/random-id';
import type { Table } from '../platform/table';
import { Documents } from './documents';

/** An event of a service, shown on its graphs. */
export interface GraphAnnotationSpec {
  readonly title: string;
  readonly description: string;
  /** Seconds since epoch. */
  readonly from: number;
  /** Seconds since epoch, included; never before `from`. */
  readonly to: number;
  readonly service: string;
  readonly roles: readonly string[];
}

export interface GraphAnnotation extends GraphAnnotationSpec {
  readonly id: string;
}

/** The graph annotations of a tenant, by id. */
export class GraphAnnotations {
  private readonly annotations: Documents<GraphAnnotation>;

  constructor(table: Table) {
    this.annotations = new Documents(table, 'graph-annotations');
  }

  async create(tenantId: Id, spec: GraphAnnotationSpec): Promise<GraphAnnotation> {
    for (;;) {
      const annotation = { id: randomId(), ...spec };
      if (await this.annotations.create(tenantId, annotation.id, annotation)) return annotation;
    }
  }

  /** A service's annotations that overlap `from` to `to`, both included, sorted by time. */
  async find(tenantId: Id, service: string, from: number, to: number): Promise<GraphAnnotation[]> {
    const found: GraphAnnotation[] = [];
    for await (const { value } of this.annotations.list(tenantId))
      if (value.service === service && value.from <= to && value.to >= from) found.push(value);
    return found.sort((a, b) => a.from - b.from || (a.id < b.id ? -1 : 1));
  }

  /** @returns the new annotation; undefined when the id is unknown */
  async replace(tenantId: Id, id: string, spec: GraphAnnotationSpec): Promise<GraphAnnotation | undefined> {
    return isGivenId(id) ? this.annotations.change(tenantId, id, () => ({ id, ...spec })) : undefined;
  }

  /** @returns the removed annotation; undefined when the id is unknown */
  async remove(tenantId: Id, id: string): Promise<GraphAnnotation | undefined> {
    return isGivenId(id) ? this.annotations.remove(tenantId, id) : undefined;
  }
}
