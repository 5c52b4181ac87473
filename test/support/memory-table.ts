import {
  ConditionalCheckFailedException,
  DynamoDBClient,
  type QueryCommandInput,
  type TransactWriteItem,
} from '@aws-sdk/client-dynamodb';
import type { Item } from '../../shared/platform/table';

/** A command that is about to reach a {@link MemoryTable}, such as `GetItem` of a document of kind `hosts`. */
export interface TableCall {
  readonly command: string;
  readonly kind: string;
}

const metadata = { $metadata: {}, message: 'the condition does not hold' };

/**
 * A table in memory, in place of the DynamoDB table, for tests of documents (shared/registry/documents.ts). It knows
 * `GetItem`, `Query`, `PutItem` and `DeleteItem`, and no transactions.
 */
export class MemoryTable {
  readonly name = 'meta';
  private readonly items = new Map<string, Item>();
  private readonly others: { readonly call: TableCall; readonly act: () => Promise<unknown> }[] = [];

  // biome-ignore lint/suspicious/noExplicitAny: commands are read as they are sent
  private readonly send = async ({ constructor: { name }, input }: any) => {
    const command = name.replace('Command', '');
    const pk: string = (input.Key ?? input.Item)?.pk.S ?? input.ExpressionAttributeValues[':pk'].S;
    const kind = pk.split('#')[0]!;
    const at = this.others.findIndex(({ call }) => call.command === command && call.kind === kind);
    if (at >= 0) await this.others.splice(at, 1)[0]!.act();
    if (command === 'GetItem') return { Item: this.items.get(keyOf(input.Key)) };
    if (command === 'Query') return { Items: this.query(input, pk) };
    if (command === 'PutItem') return this.put(input);
    if (command !== 'DeleteItem') throw new Error(`${command} is unknown`);
    const Attributes = this.items.get(keyOf(input.Key));
    const revision = input.ExpressionAttributeValues?.[':revision'];
    if (revision !== undefined && Attributes?.revision?.S !== revision.S)
      throw new ConditionalCheckFailedException(metadata);
    this.items.delete(keyOf(input.Key));
    return { Attributes };
  };
  // The paginators of the SDK accept only an instance of the client.
  readonly client: DynamoDBClient = Object.assign(Object.create(DynamoDBClient.prototype), {
    send: this.send,
  });

  /** Runs `act` once, as another client, just before the next `command` for a document of this kind reaches the table. */
  before(command: string, kind: string, act: () => Promise<unknown>): void {
    this.others.push({ call: { command, kind }, act });
  }

  private put(input: NonNullable<TransactWriteItem['Put']>): object {
    const stored = this.items.get(keyOf(input.Item!));
    const previous = input.ExpressionAttributeValues?.[':previous']?.S;
    if (stored?.revision?.S !== previous) throw new ConditionalCheckFailedException(metadata);
    this.items.set(keyOf(input.Item!), input.Item!);
    return {};
  }

  private query({ ExpressionAttributeValues, ScanIndexForward = true }: QueryCommandInput, pk: string) {
    const prefix = ExpressionAttributeValues?.[':prefix']?.S ?? '';
    const found = [...this.items.values()]
      .filter((item) => item.pk!.S === pk && item.sk!.S!.startsWith(prefix))
      .sort((a, b) => (a.sk!.S! < b.sk!.S! ? -1 : 1));
    return ScanIndexForward ? found : found.reverse();
  }
}

function keyOf({ pk, sk }: Item): string {
  return `${pk!.S} ${sk!.S}`;
}
