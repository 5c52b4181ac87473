import type { Id } from '../model/id';
import type { Table } from '../platform/table';
import { GivenDocuments } from './given-documents';

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

/** Stores the graph annotations of a tenant, by id. */
export class GraphAnnotations extends GivenDocuments<GraphAnnotation> {
  constructor(table: Table) {
    super(table, 'graph-annotations');
  }

  /**
   * Returns a service's annotations that overlap the time from `from` to `to` (both inclusive), sorted by
   * time.
   */
  async find(tenantId: Id, service: string, from: number, to: number): Promise<GraphAnnotation[]> {
    const all = await this.list(tenantId);
    return all
      .filter((each) => each.service === service && each.from <= to && each.to >= from)
      .sort((a, b) => a.from - b.from || (a.id < b.id ? -1 : 1));
  }
}
