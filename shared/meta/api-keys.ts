import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { Right } from '../routes';
import type { Table } from './table';

/** What a key lets its bearer do. */
export interface Grant {
  readonly tenant: string;
  readonly rights: readonly Right[];
}

/** `ht_<public id>_<secret>`: 12 characters to find it by, 256 random bits to prove it. */
const KEY = /^ht_([A-Za-z0-9]{12})_([A-Za-z0-9_-]{43})$/;
const CACHE_MS = 30_000;
const MAX_CACHED = 10_000;

/** API keys. The table holds their SHA-256; the key itself is shown once, when it is made. */
export class ApiKeys {
  private readonly copies = new Map<
    string,
    { readonly stored: StoredKey | undefined; readonly readAtMs: number }
  >();

  constructor(
    private readonly table: Table,
    private readonly now: () => number = Date.now,
  ) {}

  /** @returns the key, which nothing can show again */
  async create(grant: Grant): Promise<string> {
    const publicId = Array.from(randomBytes(12), (byte) => ALPHABET[byte % ALPHABET.length]).join('');
    const key = `ht_${publicId}_${randomBytes(32).toString('base64url')}`;
    await this.table.client.send(
      new PutItemCommand({
        TableName: this.table.name,
        Item: {
          pk: { S: `key#${publicId}` },
          sk: { S: 'key' },
          hash: { B: digestOf(key) },
          tenant: { S: grant.tenant },
          rights: { SS: [...grant.rights] },
          createdAt: { N: String(this.now()) },
        },
        ConditionExpression: 'attribute_not_exists(pk)',
      }),
    );
    return key;
  }

  /**
   * What a key grants, as stored at most 30 s ago.
   *
   * @returns undefined when the key is malformed, unknown, or not the one its public id was made with
   */
  async verify(key: string): Promise<Grant | undefined> {
    const publicId = KEY.exec(key)?.[1];
    if (publicId === undefined) return undefined;
    const stored = await this.stored(publicId);
    if (stored === undefined || !timingSafeEqual(stored.hash, digestOf(key))) return undefined;
    return stored.grant;
  }

  private async stored(publicId: string): Promise<StoredKey | undefined> {
    const copy = this.copies.get(publicId);
    if (copy !== undefined && this.now() - copy.readAtMs < CACHE_MS) return copy.stored;
    const { Item } = await this.table.client.send(
      new GetItemCommand({
        TableName: this.table.name,
        Key: { pk: { S: `key#${publicId}` }, sk: { S: 'key' } },
        ConsistentRead: true,
      }),
    );
    const stored = Item && {
      hash: Buffer.from(Item.hash!.B!),
      grant: { tenant: Item.tenant!.S!, rights: (Item.rights?.SS ?? []) as Right[] },
    };
    // Bounded: unknown ids are cheap to make up.
    if (this.copies.size >= MAX_CACHED) this.copies.clear();
    this.copies.set(publicId, { stored, readAtMs: this.now() });
    return stored;
  }
}

interface StoredKey {
  readonly hash: Buffer;
  readonly grant: Grant;
}

// 64 characters, so that a random byte picks each with the same probability; the last two repeat.
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789AB';

function digestOf(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}
