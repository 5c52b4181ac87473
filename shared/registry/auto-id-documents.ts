import type { Id } from '../model/id';
import { isGivenId, randomId } from '../model/random-id';
import type { Table } from '../platform/table';
import { type DocumentKind, Documents } from './documents';
import { RefusedError } from './refused';

/** Documents of one kind whose ids the registry generates. */
export class AutoIdDocuments<T extends { readonly id: string }> {
  protected readonly documents: Documents<T>;

  constructor(table: Table, kind: DocumentKind) {
    this.documents = new Documents(table, kind);
  }

  /**
   * Creates a document.
   *
   * @param spec contains an id only if the caller has already generated it
   * @param most maximum number of the tenant's documents of this kind; concurrent requests may exceed it by one
   * @throws {RefusedError} when the tenant has `most` documents
   */
  async create(
    tenantId: Id,
    spec: Omit<T, 'id'> & { readonly id?: string },
    most = Number.POSITIVE_INFINITY,
  ): Promise<T> {
    if (most < Number.POSITIVE_INFINITY && (await this.list(tenantId)).length >= most)
      throw new RefusedError(`there are ${most} already, the maximum`);
    for (;;) {
      const document = { id: randomId(), ...spec } as T;
      if (await this.documents.create(tenantId, document.id, document)) return document;
    }
  }

  async get(tenantId: Id, id: string): Promise<T | undefined> {
    return isGivenId(id) ? this.documents.get(tenantId, id) : undefined;
  }

  /** Returns all documents of a tenant, sorted by id. */
  list(tenantId: Id): Promise<T[]> {
    return this.documents.all(tenantId);
  }

  /** Changes a document. Returns the changed document, or undefined when the id is unknown. */
  async change(tenantId: Id, id: string, change: (document: T) => T): Promise<T | undefined> {
    return isGivenId(id) ? this.documents.change(tenantId, id, change) : undefined;
  }

  /** Removes a document. Returns it, or undefined when the id is unknown. */
  async remove(tenantId: Id, id: string): Promise<T | undefined> {
    return isGivenId(id) ? this.documents.remove(tenantId, id) : undefined;
  }
}
