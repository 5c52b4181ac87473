import { randomInt } from 'node:crypto';
import { GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { Id } from '../id';
import { type Item, queryAll, succeeds, type Table } from './table';

export type HostStatus = 'working' | 'standby' | 'maintenance' | 'poweroff';

/** What a client says of a host. */
export interface HostSpec {
  readonly name: string;
  readonly displayName: string | null;
  readonly customIdentifier: string | null;
  readonly memo: string;
  /** Echoed as posted. */
  readonly meta: Record<string, unknown>;
  readonly interfaces: readonly Record<string, unknown>[];
  /** Service name -> role names. */
  readonly roles: Record<string, string[]>;
}

export interface Host extends HostSpec {
  readonly id: string;
  readonly status: HostStatus;
  readonly isRetired: boolean;
  /** Seconds since epoch. */
  readonly createdAt: number;
}

const BASE62 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/**
 * The hosts of a tenant. Concurrent writers are settled by a revision: who read an older one reads again.
 *
 *     pk hosts#tenant   sk host id   host: JSON   revision: number
 */
export class Hosts {
  constructor(
    private readonly table: Table,
    private readonly now: () => number = Date.now,
  ) {}

  async create(tenantId: Id, spec: HostSpec): Promise<Host> {
    for (;;) {
      const id = Array.from({ length: 11 }, () => BASE62[randomInt(BASE62.length)]).join('');
      const host: Host = {
        ...spec,
        id,
        status: 'working',
        isRetired: false,
        createdAt: Math.floor(this.now() / 1000),
      };
      if (await this.put(tenantId, host, undefined)) return host;
    }
  }

  async get(tenantId: Id, hostId: string): Promise<Host | undefined> {
    return (await this.read(tenantId, hostId))?.host;
  }

  /** All hosts that are not retired, by name. */
  async list(tenantId: Id): Promise<Host[]> {
    const hosts: Host[] = [];
    const items = queryAll(this.table, {
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: `hosts#${tenantId}` } },
    });
    for await (const item of items) {
      const host = hostOf(item);
      if (!host.isRetired) hosts.push(host);
    }
    return hosts.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.id < b.id ? -1 : 1));
  }

  /** @returns the host as changed, or undefined when there is none */
  async change(tenantId: Id, hostId: string, change: (host: Host) => Host): Promise<Host | undefined> {
    for (;;) {
      const found = await this.read(tenantId, hostId);
      if (found === undefined) return undefined;
      const changed = change(found.host);
      if (await this.put(tenantId, changed, found.revision)) return changed;
    }
  }

  private async read(tenantId: Id, hostId: string): Promise<{ host: Host; revision: number } | undefined> {
    // Ids are ours; anything else is no host, and no key that DynamoDB would refuse.
    if (!/^[A-Za-z0-9]{1,64}$/.test(hostId)) return undefined;
    const { Item } = await this.table.client.send(
      new GetItemCommand({
        TableName: this.table.name,
        Key: { pk: { S: `hosts#${tenantId}` }, sk: { S: hostId } },
        ConsistentRead: true,
      }),
    );
    return Item && { host: hostOf(Item), revision: Number(Item.revision!.N) };
  }

  private put(tenantId: Id, host: Host, previous: number | undefined): Promise<boolean> {
    return succeeds(
      this.table.client.send(
        new PutItemCommand({
          TableName: this.table.name,
          Item: {
            pk: { S: `hosts#${tenantId}` },
            sk: { S: host.id },
            host: { S: JSON.stringify(host) },
            revision: { N: String((previous ?? 0) + 1) },
          },
          ConditionExpression: previous === undefined ? 'attribute_not_exists(pk)' : 'revision = :previous',
          ExpressionAttributeValues:
            previous === undefined ? undefined : { ':previous': { N: String(previous) } },
        }),
      ),
    );
  }
}

function hostOf(item: Item): Host {
  return JSON.parse(item.host!.S!) as Host;
}
