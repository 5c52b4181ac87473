import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { ApiKeys } from '../../../shared/tenancy/api-keys';

test('a revoked key is refused after 30 s, also by an instance whose clock was set back meanwhile', async () => {
  let stored: object | undefined;
  let nowMs = 3_600_000;
  const send = async ({ constructor: { name }, input }: { constructor: { name: string }; input: never }) => {
    const { Item } = input as { Item?: { hash?: object } };
    if (name === 'PutItemCommand' && Item?.hash !== undefined) stored = Item;
    return name === 'GetItemCommand' ? { Item: stored } : {};
  };
  const keys = new ApiKeys({ name: 'meta', client: { send } as unknown as DynamoDBClient }, () => nowMs);
  const { key } = await keys.create({ tenant: 'acme', rights: ['read'] });
  expect(await keys.verify(key)).toEqual({ tenant: 'acme', rights: ['read'] });
  // Another instance revokes the key.
  stored = undefined;
  expect(await keys.verify(key)).toBeDefined();
  nowMs -= 600_000;
  expect(await keys.verify(key)).toBeUndefined();
});
