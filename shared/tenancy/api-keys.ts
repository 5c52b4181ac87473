import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import type { Id } from '../model/id';
import { tenantIdOf } from '../model/placement';
import { metaKeys } from '../platform/keys';
import {
  deleteItem,
  deleteItemIf,
  getItem,
  type Item,
  putItemIf,
  queryItems,
  type Table,
} from '../platform/table';
import type { Right } from './rights';

/** An API key's tenant and rights. */
export interface Grant {
  readonly tenant: string;
  readonly rights: readonly Right[];
}

/** A key as it appears in lists, without its secret. */
export interface KeyDescription extends Grant {
  /** The 12 characters after `ht_`. They identify the key and are not secret. */
  readonly publicId: string;
  /** Creation time, as Unix time in ms. */
  readonly createdAt: number;
  /** Expiry time, as Unix time in ms; undefined if the key never expires. */
  readonly expiresAt: number | undefined;
}

/** The tenant already has {@link MAX_ACTIVE_KEYS} keys with the same rights. */
export class TooManyKeysError extends Error {
  override readonly name = 'TooManyKeysError';
}

/** A key is `ht_<public id>_<secret>`: 12 characters to look it up, and 256 random bits as proof. */
const KEY = /^ht_([A-Za-z0-9]{12})_([A-Za-z0-9_-]{43})$/;

/** Returns whether `text` has the form of a key. The key may still be unknown or revoked. */
export function isKey(text: string): boolean {
  return KEY.test(text);
}

/**
 * Lifetime of a cached look-up, in ms. A revoked key keeps working for at most this time. A key that a client
 * tried before it existed is refused for at most this time after its creation.
 */
const CACHE_MS = 30_000;
/**
 * Maximum number of a tenant's active keys with the same rights. Two keys allow a rotation: create the second, then
 * revoke the first.
 */
const MAX_ACTIVE_KEYS = 2;
/**
 * Maximum number of active keys with the same rights that operator commands create for themselves. These keys take the
 * numbers after the tenant's own keys, so they take none of the tenant's two.
 */
const MAX_COMMAND_KEYS = 4;

/**
 * Stores API keys. The table holds only their SHA-256. A key itself is shown once, when it is created.
 *
 *     pk key#public id       sk key               hash   tenant   rights   createdAt: ms   expiresAt: seconds
 *     pk keys#tenant id      sk rights#number     the same without the hash, and the public id
 *
 * Requests look up the first item by the key's public id. The second item makes it possible to list a tenant's keys,
 * and limits how many there are: each active key takes one of a few numbers.
 */
export class ApiKeys {
  /**
   * Cache of look-ups by public id. Each entry belongs to one of two owners, `found` or `unknown`, which
   * share the cache fairly. So if a client sends many made-up ids, they evict each other, not the keys in
   * use.
   */
  private readonly copies = new Cache<KeyCopy>(CACHES.apiKeys, () => 1_000);

  constructor(
    private readonly table: Table,
    private readonly now: () => number = Date.now,
  ) {}

  /**
   * Creates a key.
   *
   * @param expiresAt Unix time in ms; undefined for never
   * @param isOfCommand whether an operator command creates the key for itself
   * @returns the key, which cannot be shown again
   * @throws {TooManyKeysError}
   */
  async create(
    grant: Grant,
    expiresAt?: number,
    isOfCommand = false,
  ): Promise<{ readonly key: string; readonly publicId: string }> {
    const publicId = Array.from(randomBytes(12), (byte) => ALPHABET[byte % ALPHABET.length]).join('');
    const key = `ht_${publicId}_${randomBytes(32).toString('base64url')}`;
    const described = {
      tenant: { S: grant.tenant },
      rights: { SS: [...new Set(grant.rights)].sort() },
      createdAt: { N: String(this.now()) },
      // The table's TTL attribute is in seconds. `verify` refuses an expired key whether or not DynamoDB has
      // removed it.
      ...(expiresAt === undefined ? {} : { expiresAt: { N: String(Math.floor(expiresAt / 1000)) } }),
    };
    // Write the key before taking a number for it. A crash in between then leaves a key that nobody has seen, but uses
    // up no number.
    await this.table.client.send(
      new PutItemCommand({
        TableName: this.table.name,
        Item: { ...metaKeys.apiKey(publicId), ...described, hash: { B: digestOf(key) } },
        // A retry after a lost response finds the item that the first attempt wrote.
        ConditionExpression: 'attribute_not_exists(pk) OR #hash = :hash',
        ExpressionAttributeNames: { '#hash': 'hash' },
        ExpressionAttributeValues: { ':hash': { B: digestOf(key) } },
      }),
    );
    const [first, most] = isOfCommand ? [MAX_ACTIVE_KEYS, MAX_COMMAND_KEYS] : [0, MAX_ACTIVE_KEYS];
    for (let number = first; number < first + most; number++) {
      const isTaken = await putItemIf(this.table, {
        Item: { ...numberedKey(grant, number), ...described, publicId: { S: publicId } },
        // A retry after a lost response finds the numbered item that the first attempt wrote for this key.
        ConditionExpression: 'attribute_not_exists(pk) OR expiresAt <= :now OR publicId = :id',
        ExpressionAttributeValues: {
          ':now': { N: String(Math.floor(this.now() / 1000)) },
          ':id': { S: publicId },
        },
      });
      if (isTaken) return { key, publicId };
    }
    await deleteItem(this.table, metaKeys.apiKey(publicId));
    throw new TooManyKeysError(
      `the tenant has ${most} keys ${isOfCommand ? 'of operator commands ' : ''}with the rights ${described.rights.SS.join(',')}, the most allowed; revoke one first`,
    );
  }

  /** Lists a tenant's keys, oldest first. May include expired ones. */
  async list(tenantId: Id): Promise<KeyDescription[]> {
    const items = await queryItems(this.table, { pk: metaKeys.apiKeysOfTenant(tenantId) });
    const keys = items.map((item) => ({
      ...grantOf(item),
      publicId: item.publicId!.S!,
      createdAt: Number(item.createdAt!.N),
      expiresAt: expiryOf(item),
    }));
    return keys.sort((a, b) => a.createdAt - b.createdAt);
  }

  /**
   * Revokes a key. Every instance refuses it after at most 30 s. Safe to retry.
   *
   * @returns the key's grant; undefined when there is no such key
   */
  async revoke(publicId: string): Promise<Grant | undefined> {
    const Item = await this.read(publicId);
    if (Item === undefined) return undefined;
    const grant = grantOf(Item);
    // Free the key's number before removing the key. If this is interrupted, a retry still finds the key.
    for (let number = 0; number < MAX_ACTIVE_KEYS + MAX_COMMAND_KEYS; number++)
      await deleteItemIf(this.table, {
        Key: numberedKey(grant, number),
        ConditionExpression: 'publicId = :id',
        ExpressionAttributeValues: { ':id': { S: publicId } },
      });
    await deleteItem(this.table, metaKeys.apiKey(publicId));
    this.copies.delete(publicId, 'found');
    return grant;
  }

  /**
   * Returns a key's grant, as read at most 30 s ago.
   *
   * @returns undefined when the key is malformed, unknown or expired, or its secret is wrong
   */
  async verify(key: string): Promise<Grant | undefined> {
    const publicId = KEY.exec(key)?.[1];
    if (publicId === undefined) return undefined;
    const stored = await this.findStored(publicId);
    if (stored === undefined || !timingSafeEqual(stored.hash, digestOf(key))) return undefined;
    return stored.expiresAt !== undefined && stored.expiresAt <= this.now() ? undefined : stored.grant;
  }

  private async findStored(publicId: string): Promise<StoredKey | undefined> {
    const nowMs = this.now();
    for (const owner of ['found', 'unknown'] as const) {
      const copy = this.copies.get(publicId, owner);
      const ageMs = copy === undefined ? Infinity : nowMs - copy.readAtMs;
      // If the age is negative, the clock was set back, and the copy may be older than it seems.
      if (ageMs >= 0 && ageMs < CACHE_MS) return copy!.stored;
    }
    const item = await this.read(publicId);
    if (item === undefined) {
      this.copies.delete(publicId, 'found');
      this.copies.set(publicId, { stored: undefined, readAtMs: this.now() }, 'unknown');
      return undefined;
    }
    const stored = {
      hash: Buffer.from(item.hash!.B!),
      grant: grantOf(item),
      expiresAt: expiryOf(item),
    };
    this.copies.set(publicId, { stored, readAtMs: this.now() }, 'found');
    return stored;
  }

  private read(publicId: string): Promise<Item | undefined> {
    return getItem(this.table, metaKeys.apiKey(publicId));
  }
}

interface StoredKey {
  readonly hash: Buffer;
  readonly grant: Grant;
  readonly expiresAt: number | undefined;
}

interface KeyCopy {
  /** Undefined if the table has no such key. */
  readonly stored: StoredKey | undefined;
  readonly readAtMs: number;
}

function numberedKey({ tenant, rights }: Grant, number: number): Item {
  return metaKeys.apiKeyOfTenant(tenantIdOf(tenant), [...new Set(rights)].sort(), number);
}

function grantOf(item: Item): Grant {
  return { tenant: item.tenant!.S!, rights: (item.rights?.SS ?? []) as Right[] };
}

function expiryOf({ expiresAt }: Item): number | undefined {
  return expiresAt?.N === undefined ? undefined : Number(expiresAt.N) * 1000;
}

// The alphabet has 64 entries, a divisor of 256, so that a random byte selects each entry with equal
// probability. To make up 64, `A` and `B` occur twice.
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789AB';

function digestOf(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}
