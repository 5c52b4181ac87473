import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { ChangeList } from '../../../shared/catalogue/change-list';
import { DAY_MS } from '../../../shared/model/duration';
import { sourceOf } from '../../../shared/model/labels';
import { sourceIdOf, tenantIdOf } from '../../../shared/model/placement';
import { type ItemKey, metaKeys } from '../../../shared/platform/keys';

const tenantId = tenantIdOf('a');
const sourceId = sourceIdOf(tenantId, sourceOf.host('h'));
const expiresAt = { N: '1800000000' };

test('an item of a kind that the reader does not know changes nothing', async () => {
  const unknown: ItemKey = { ...metaKeys.indexChange(tenantId), sk: { S: 'later' } };
  const Items = [
    { ...metaKeys.changedSource(tenantId, sourceId), puts: { N: '3' }, expiresAt },
    { ...metaKeys.indexChange(tenantId), version: { N: '7' }, expiresAt },
    { ...unknown, expiresAt },
  ];
  const client = Object.assign(new DynamoDBClient({ region: 'none' }), { send: async () => ({ Items }) });
  const list = new ChangeList({ client, name: 'Meta' }, DAY_MS, Date.now);
  expect(await list.all(tenantId)).toEqual({
    deletions: new Map([[sourceId, 3]]),
    index: '7 1800000000',
  });
});
