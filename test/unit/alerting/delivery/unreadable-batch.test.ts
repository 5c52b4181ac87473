import { DynamoDBClient, type PutItemCommandInput, type QueryCommandInput } from '@aws-sdk/client-dynamodb';
import { MAX_ATTEMPTS, waitMs } from '../../../../shared/alerting/delivery/next-step';
import type { OutsideRequest } from '../../../../shared/alerting/delivery/post-outside';
import { NO_RECEIVERS } from '../../../../shared/alerting/delivery/receivers';
import { type SendDependencies, sendAll } from '../../../../shared/alerting/delivery/send';
import { EvaluatorStore } from '../../../../shared/alerting/tasks/evaluator-store';
import type { NotificationBatch } from '../../../../shared/alerting/tasks/notification';
import { decodeJson, encodeJson } from '../../../../shared/alerting/tasks/task-states';
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

const sendingOf = (
  store: EvaluatorStore,
  post: SendDependencies['post'],
  now: () => number,
): SendDependencies => ({
  eventDestinations: async () => [],
  gaveUp: async () => {},
  store,
  publish: async () => {},
  receivers: { get: async () => ({ ...NO_RECEIVERS, webhooks: [{ url: 'w' }] }) },
  ruleStates: { list: async () => new Map() },
  post,
  externalUrl: '',
  now,
  reported: new Map(),
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
  'a batch $name holds back no other, is reported by its age, and is given up in the end',
  async ({ bytes }) => {
    const items = [itemOf(TENANT, 'a', bytes), itemOf(TENANT, 'b', batchOf(TENANT, 'b'))];
    const store = new EvaluatorStore(tableOf([...items, itemOf(OTHER, 'c', batchOf(OTHER, 'c'))]));
    const got: string[] = [];
    let nowMs = NOW_MS;
    const post = async ({ json }: OutsideRequest) => void got.push(JSON.parse(json).groupLabels.group);
    const sending = sendingOf(store, post, () => nowMs);
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
    const undelivered = await store.listUndelivered(TENANT.id, 10);
    expect(undelivered).toMatchObject([
      {
        attempts: MAX_ATTEMPTS,
        batch: { tickMs: NOW_MS, unreadable: expect.anything() },
        stored: { batch: { B: bytes } },
      },
    ]);
  },
);

test('damaged notifications of a batch are lost alone, are counted, and remain in an undelivered batch', async () => {
  const whole = decodeJson(batchOf(TENANT, 'a')) as NotificationBatch;
  const [good] = whole.notifications;
  const bytes = encodeJson({
    ...whole,
    notifications: [null, good, { ...good, labels: [['job']] }, { ...good, annotations: undefined }],
  });
  const store = new EvaluatorStore(tableOf([itemOf(TENANT, 'a', bytes)]));
  const got: unknown[] = [];
  const post = async ({ json }: OutsideRequest) => void got.push(...JSON.parse(json).alerts);
  const sending = sendingOf(store, post, () => NOW_MS);
  expect(await sendAll(sending, [TENANT], () => true)).toMatchObject({ sent: 1, failed: 0, dropped: 3 });
  expect(got).toMatchObject([{ id: 'a', status: 'firing' }]);
  expect(await store.outbox()).toEqual([]);
  expect(await store.listUndelivered(TENANT.id, 10)).toMatchObject([
    { refused: ['3 of its notifications cannot be read'], stored: { batch: { B: bytes } } },
  ]);
});

test('a damaged notification among repeated ones may be a change, so it remains in an undelivered batch', async () => {
  const whole = decodeJson(batchOf(TENANT, 'a')) as NotificationBatch;
  const [good] = whole.notifications;
  const bytes = encodeJson({ ...whole, notifications: [null, { ...good, repeatsMs: [3_600_000] }] });
  const store = new EvaluatorStore(tableOf([itemOf(TENANT, 'a', bytes)]));
  const sending = sendingOf(
    store,
    async () => {},
    () => NOW_MS,
  );
  expect(await sendAll(sending, [TENANT], () => true)).toMatchObject({ failed: 0, dropped: 1 });
  expect(await store.outbox()).toEqual([]);
  expect(await store.listUndelivered(TENANT.id, 10)).toMatchObject([{ stored: { batch: { B: bytes } } }]);
});

test('damaged events of a batch are lost alone', async () => {
  const event = { id: 'e', alert: { id: 'one' }, status: 'OK' };
  const bytes = encodeJson({
    tenant: 'acme',
    tickMs: NOW_MS,
    monitorId: 'm',
    events: [{ alert: null }, event],
  });
  const store = new EvaluatorStore(tableOf([itemOf(TENANT, 'a', bytes)]));
  expect(await store.outbox()).toMatchObject([{ batch: { events: [event] }, damaged: 1 }]);
});

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
