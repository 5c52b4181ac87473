import { DynamoDBClient, type PutItemCommandInput, type QueryCommandInput } from '@aws-sdk/client-dynamodb';
import { NO_RECEIVERS } from '../../../../shared/alerting/delivery/receivers';
import { MAX_ATTEMPTS, sendAll, waitMs } from '../../../../shared/alerting/delivery/send';
import { EvaluatorStore } from '../../../../shared/alerting/tasks/evaluator-store';
import { encodeJson } from '../../../../shared/alerting/tasks/task-states';
import { idOf } from '../../../../shared/model/id';
import { metaKeys } from '../../../../shared/platform/keys';
import type { Item } from '../../../../shared/platform/table';

const NOW_MS = Date.parse('2026-11-23T12:00:00Z');
const TENANT = { id: idOf('tenant', 'acme'), name: 'acme' };
const OTHER = { id: idOf('tenant', 'other'), name: 'other' };

/** A table in memory that answers the requests of the outbox. */
function tableOf(items: readonly Item[]) {
  const keyOf = ({ pk, sk }: Item) => `${pk!.S} ${sk!.S}`;
  const stored = new Map(items.map((item) => [keyOf(item), item]));
  type Input = PutItemCommandInput & QueryCommandInput & { Key: Item };
  const send = async ({
    constructor: { name },
    input,
  }: {
    constructor: object & { name: string };
    input: Input;
  }) => {
    if (name === 'PutItemCommand') stored.set(keyOf(input.Item!), input.Item!);
    else if (name === 'DeleteItemCommand') stored.delete(keyOf(input.Key));
    else {
      const pk = input.ExpressionAttributeValues![':pk']!.S;
      return { Items: [...stored.values()].filter((item) => item.pk!.S === pk) };
    }
    return {};
  };
  // The paginator requires an instance of the class.
  const client = Object.assign(Object.create(DynamoDBClient.prototype), { send }) as DynamoDBClient;
  return { name: 'meta', client };
}

const itemOf = (tenant: typeof TENANT, group: string, bytes: Uint8Array): Item => ({
  ...metaKeys.outboxBatch(NOW_MS, tenant.id, idOf('group', group), 0),
  batch: { B: bytes },
});
const batchOf = (tenant: typeof TENANT, group: string) =>
  encodeJson({
    tenant: tenant.name,
    namespace: 'n',
    group,
    tickMs: NOW_MS,
    queryOffsetMs: 0,
    isLate: false,
    notifications: [
      {
        id: group,
        state: 'firing',
        labels: [['alertname', 'High']],
        annotations: [],
        value: 1,
        expr: 'x',
        firedAtMs: NOW_MS,
      },
    ],
  });

test.each([
  { name: 'that does not decode', bytes: Buffer.from('no zstd') },
  { name: 'that is no object', bytes: encodeJson(null) },
  { name: 'with a notification that is null', bytes: encodeJson({ tenant: 'acme', notifications: [null] }) },
  { name: 'with a notification that is empty', bytes: encodeJson({ tenant: 'acme', notifications: [{}] }) },
  {
    name: 'with an event without an alert',
    bytes: encodeJson({ monitorId: 'm', events: [{ alert: null }] }),
  },
  { name: 'without notifications and events', bytes: encodeJson({ tenant: 'acme', tickMs: NOW_MS }) },
])(
  'a batch $name holds back no other, is reported by its age, and becomes a dead letter',
  async ({ bytes }) => {
    const items = [itemOf(TENANT, 'a', bytes), itemOf(TENANT, 'b', batchOf(TENANT, 'b'))];
    const store = new EvaluatorStore(tableOf([...items, itemOf(OTHER, 'c', batchOf(OTHER, 'c'))]));
    const got: string[] = [];
    let nowMs = NOW_MS;
    const sending: Parameters<typeof sendAll>[0] = {
      eventTargets: async () => [],
      gaveUp: async () => {},
      store,
      publish: async () => {},
      receivers: { get: async () => ({ ...NO_RECEIVERS, webhooks: [{ url: 'w' }] }) },
      ruleStates: { list: async () => new Map() },
      post: async ({ json }) => void got.push(JSON.parse(json).groupLabels.group),
      externalUrl: '',
      now: () => nowMs,
      told: new Map(),
    };
    const send = () => sendAll(sending, [TENANT], () => true);
    expect(await send()).toEqual({ sent: 2, failed: 1, dropped: 0, outboxAgeMs: 0 });
    expect(got.sort()).toEqual(['b', 'c']);
    for (let i = 1; i < MAX_ATTEMPTS; i++) {
      nowMs += waitMs(i);
      const isLast = i === MAX_ATTEMPTS - 1;
      expect(await send()).toEqual({
        sent: 0,
        failed: 1,
        dropped: isLast ? 1 : 0,
        outboxAgeMs: isLast ? 0 : nowMs - NOW_MS,
      });
    }
    expect(await store.outbox()).toEqual([]);
    const dead = await store.listUndelivered(TENANT.id, 10);
    expect(dead).toMatchObject([
      { attempts: MAX_ATTEMPTS, batch: { tickMs: NOW_MS }, stored: { batch: { B: bytes } } },
    ]);
  },
);

test.each(['no JSON', 'null', '{"attempts":1,"dueMs":0}'])(
  'a batch with the damaged delivery %s is sent, and holds back no other',
  async (delivery) => {
    const damaged = { ...itemOf(TENANT, 'a', batchOf(TENANT, 'a')), delivery: { S: delivery } };
    const store = new EvaluatorStore(tableOf([damaged, itemOf(OTHER, 'c', batchOf(OTHER, 'c'))]));
    expect(await store.outbox()).toMatchObject([
      { attempts: 0, dueMs: 0, taken: [], refused: [] },
      { batch: { tenant: 'other' } },
    ]);
  },
);
