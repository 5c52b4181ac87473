import { DynamoDBClient, QueryCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { DAY_MS } from '../../../shared/model/duration';
import { tenantIdOf } from '../../../shared/model/placement';
import { warmKeys } from '../../../shared/platform/keys';
import { WarmTier } from '../../../shared/warm/warm-tier';

const ref = { tenantId: tenantIdOf('a'), partition: 0 };
const day = '2026-11-22';
const nowMs = Date.parse('2026-11-23T00:00Z');

/** A day with two items. After the first `updates` updates, updates fail, as if the invocation had ended. */
function dayThatFailsAfter(updates: number) {
  const renewed: (string | undefined)[][] = [];
  const send = async (command: unknown) => {
    if (command instanceof QueryCommand) return { Items: [{ sk: { S: 'a' } }, { sk: { S: 'b' } }] };
    if (!(command instanceof UpdateItemCommand)) throw new Error('not expected');
    if (renewed.length === updates) throw new Error('the invocation ends');
    const { Key, ExpressionAttributeValues } = command.input;
    renewed.push([Key!.sk!.S, ExpressionAttributeValues![':expiresAt']!.N]);
    return {};
  };
  const client = Object.assign(new DynamoDBClient({ region: 'none' }), { send });
  return { warm: new WarmTier({ client, name: 'Warm' }, 10 * DAY_MS, () => nowMs), renewed };
}

const at = (text: string) => String(Date.parse(text) / 1000);
const marker = [warmKeys.dividedSort, at('2026-12-04T00:00Z')];

test('the marker of divided windows outlives the items, even if the invocation ends after one update', async () => {
  const { warm, renewed } = dayThatFailsAfter(1);
  await expect(warm.extend(ref, day, nowMs)).rejects.toThrow('the invocation ends');
  expect(renewed).toEqual([marker]);
});

test('the items of a day live as if they were written now, the marker a day longer', async () => {
  const { warm, renewed } = dayThatFailsAfter(Infinity);
  expect(await warm.extend(ref, day, nowMs)).toBe(2);
  expect(renewed).toEqual([marker, ['a', at('2026-12-03T00:00Z')], ['b', at('2026-12-03T00:00Z')]]);
});
