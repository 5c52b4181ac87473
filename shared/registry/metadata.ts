import type { Id } from '../model/id';
import type { Table } from '../platform/table';
import { Documents } from './documents';

/** A piece of metadata: any JSON, kept as the text it came as. */
export interface Metadata {
  readonly json: string;
  /** Seconds since epoch. */
  readonly modifiedAt: number;
}

/** An owner has as many namespaces as it may. */
export class TooManyNamespacesError extends Error {
  override readonly name = 'TooManyNamespacesError';
}

/**
 * Metadata of hosts, services and roles by namespace. An owner's namespaces are listed in a document of their own, so
 * that their number is exact under concurrent writers and listing reads none of the metadata. A namespace is listed
 * before it is there and until it is gone: after a crash in between, it is put or deleted again.
 *
 *     key owner#namespace   and owner# for the list
 */
export class MetadataStore {
  private readonly entries: Documents<Metadata>;
  private readonly lists: Documents<readonly string[]>;

  constructor(
    table: Table,
    private readonly now: () => number = Date.now,
  ) {
    this.entries = new Documents(table, 'metadata');
    this.lists = new Documents(table, 'metadata');
  }

  /** @throws {TooManyNamespacesError} */
  async put(
    tenantId: Id,
    ownerId: string,
    namespace: string,
    json: string,
    maxNamespaces: number,
  ): Promise<void> {
    await this.lists.settle(tenantId, listKey(ownerId), (listed = []) => {
      if (listed.includes(namespace)) return listed;
      if (listed.length >= maxNamespaces)
        throw new TooManyNamespacesError(`there are ${listed.length} namespaces already`);
      return [...listed, namespace].sort();
    });
    const entry: Metadata = { json, modifiedAt: Math.floor(this.now() / 1000) };
    await this.entries.settle(tenantId, entryKey(ownerId, namespace), () => entry);
  }

  get(tenantId: Id, ownerId: string, namespace: string): Promise<Metadata | undefined> {
    return this.entries.get(tenantId, entryKey(ownerId, namespace));
  }

  /** Namespaces, sorted. */
  async list(tenantId: Id, ownerId: string): Promise<readonly string[]> {
    return (await this.lists.get(tenantId, listKey(ownerId))) ?? [];
  }

  /** @returns whether there was anything */
  async remove(tenantId: Id, ownerId: string, namespace: string): Promise<boolean> {
    const removed = await this.entries.remove(tenantId, entryKey(ownerId, namespace));
    await this.lists.change(tenantId, listKey(ownerId), (listed) =>
      listed.includes(namespace) ? listed.filter((other) => other !== namespace) : listed,
    );
    return removed !== undefined;
  }

  /** Removes everything of an owner that is no more. */
  async removeOwner(tenantId: Id, ownerId: string): Promise<void> {
    for await (const { key } of this.entries.list(tenantId, { prefix: listKey(ownerId) }))
      await this.entries.remove(tenantId, key);
  }
}

function listKey(ownerId: string): string {
  return `${ownerId}#`;
}

function entryKey(ownerId: string, namespace: string): string {
  return `${ownerId}#${namespace}`;
}
