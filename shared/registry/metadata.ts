import type { Id } from '../model/id';
import type { Table } from '../platform/table';
import { Documents } from './documents';
import { RefusedError } from './refused';

/** Metadata of one namespace: any JSON, kept as text. */
export interface Metadata {
  readonly json: string;
  /** Unix time in seconds. */
  readonly modifiedAt: number;
}

/** A host, service or role that has metadata. */
export interface MetadataOwner {
  readonly id: string;
  readonly kind: 'host' | 'service' | 'role';
}

/** Maximum number of namespaces of an owner; the same as Mackerel's. */
const MAX_NAMESPACES = { host: 50, service: 50, role: 10 } as const;
const MAX_BYTES = 100 * 1024;
const NAMESPACE = /^[-a-zA-Z0-9_]{1,128}$/;

/**
 * Stores metadata of hosts, services and roles by namespace. A separate document lists an owner's namespaces.
 * So the limit on their number holds even with concurrent writers, and listing them reads no metadata.
 *
 * A namespace enters the list before it is written, and leaves it after it is removed. After a crash in between, the
 * list has a namespace without metadata, which can be put or removed again.
 *
 *     key owner#namespace, or owner# for the list
 */
export class MetadataStore {
  private readonly entries: Documents<Metadata>;
  private readonly lists: Documents<readonly string[]>;

  constructor(table: Table) {
    this.entries = new Documents(table, 'metadata');
    this.lists = new Documents(table, 'metadata');
  }

  /**
   * Stores metadata.
   *
   * @param json stored byte for byte, so that numbers stay as written
   * @throws {RefusedError} for an invalid namespace, metadata that is too large, or too many namespaces
   */
  async put(tenantId: Id, owner: MetadataOwner, namespace: string, json: string): Promise<void> {
    if (!NAMESPACE.test(namespace) || namespace.startsWith('mackerel'))
      throw new RefusedError(
        `namespace: expected ${NAMESPACE.source}, not beginning with mackerel, got ${JSON.stringify(namespace.slice(0, 100))}`,
      );
    const bytes = Buffer.byteLength(json);
    if (bytes > MAX_BYTES)
      throw new RefusedError(`the metadata has ${bytes} bytes; at most ${MAX_BYTES} are allowed`, true);
    const most = MAX_NAMESPACES[owner.kind];
    await this.lists.createOrChange(tenantId, listKey(owner.id), (listed = []) => {
      if (listed.includes(namespace)) return listed;
      if (listed.length >= most)
        throw new RefusedError(`namespace: the ${owner.kind} has ${most} namespaces, the most allowed`);
      return withName(listed, namespace);
    });
    const entry: Metadata = { json, modifiedAt: Math.floor(Date.now() / 1000) };
    await this.entries.createOrChange(tenantId, entryKey(owner.id, namespace), () => entry);
    await this.settle(tenantId, owner, namespace, true);
  }

  /**
   * Makes the list agree with the metadata of a namespace. Other clients may write both at the same time, so each
   * change of the list is followed by another look at the metadata. Whoever writes the metadata last also settles last.
   *
   * @param isThere whether the caller has put the metadata, rather than removed it
   */
  private async settle(
    tenantId: Id,
    owner: MetadataOwner,
    namespace: string,
    isThere: boolean,
  ): Promise<void> {
    for (let isStored = isThere; ; isStored = (await this.get(tenantId, owner, namespace)) !== undefined) {
      let isSettled = false;
      await this.lists.createOrChange(tenantId, listKey(owner.id), (listed) => {
        isSettled = (listed ?? []).includes(namespace) === isStored;
        if (isSettled) return listed;
        const others = (listed ?? []).filter((other) => other !== namespace);
        return isStored ? withName(others, namespace) : others;
      });
      if (isSettled) return;
    }
  }

  async get(tenantId: Id, owner: MetadataOwner, namespace: string): Promise<Metadata | undefined> {
    return NAMESPACE.test(namespace) ? this.entries.get(tenantId, entryKey(owner.id, namespace)) : undefined;
  }

  /** Returns an owner's namespaces, sorted. */
  async list(tenantId: Id, owner: MetadataOwner): Promise<readonly string[]> {
    return (await this.lists.get(tenantId, listKey(owner.id))) ?? [];
  }

  /** Removes an owner's metadata in a namespace. Returns the metadata, or undefined when there was none. */
  async remove(tenantId: Id, owner: MetadataOwner, namespace: string): Promise<Metadata | undefined> {
    if (!NAMESPACE.test(namespace)) return undefined;
    const removed = await this.entries.remove(tenantId, entryKey(owner.id, namespace));
    await this.settle(tenantId, owner, namespace, false);
    return removed;
  }

  /** Removes all metadata of a deleted owner. */
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

function withName(listed: readonly string[], namespace: string): readonly string[] {
  return [...listed, namespace].sort();
}
