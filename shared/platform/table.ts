import {
  type AttributeValue,
  ConditionalCheckFailedException,
  type DynamoDBClient,
  paginateQuery,
  type QueryCommandInput,
} from '@aws-sdk/client-dynamodb';

/** One of the two DynamoDB tables, with the client that reaches it. */
export interface Table {
  readonly client: DynamoDBClient;
  readonly name: string;
}

export type Item = Record<string, AttributeValue>;

/** Every item of a Query, over all its pages; always consistent (design.md, rule 5). */
export async function* queryAll(
  table: Table,
  input: Omit<QueryCommandInput, 'TableName' | 'ConsistentRead'>,
): AsyncGenerator<Item> {
  const pages = paginateQuery(
    { client: table.client },
    { ...input, TableName: table.name, ConsistentRead: true },
  );
  for await (const page of pages) yield* page.Items ?? [];
}

/** Whether the conditional write was done; any other failure is thrown. */
export async function succeeds(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return false;
    throw error;
  }
}
