import type { DynamoDBClient, PutItemCommandInput } from '@aws-sdk/client-dynamodb';
import { DAY_MS } from '../../../shared/model/duration';
import { type Id, idOf } from '../../../shared/model/id';
import type { AlertEvent } from '../../../shared/monitors/alert-event';
import { AlertStore } from '../../../shared/monitors/alert-store';
import { MemoryTable } from '../../support/memory-table';

const TENANT = idOf('tenant', 'acme');
const openedAtMs = Date.UTC(2026, 10, 1);

const event = (fields: Partial<AlertEvent>): AlertEvent => ({
  id: 'event' as Id,
  key: 'h',
  kind: 'opened',
  trigger: 'monitoring',
  status: 'CRITICAL',
  atMs: openedAtMs,
  isTold: true,
  alert: {
    id: '1abc',
    status: 'CRITICAL',
    wasCritical: true,
    openedAtMs,
    changedAtMs: openedAtMs,
    notifiedAtMs: openedAtMs,
  },
  subject: { type: 'host', monitorId: 'm', monitorName: 'load', memo: '', services: [] },
  ...fields,
});

/** A table that keeps what was put into it, keyed by partition key. */
function recordingTable() {
  const items = new Map<string, NonNullable<PutItemCommandInput['Item']>>();
  const send = async ({ constructor: { name }, input }: { constructor: { name: string }; input: never }) => {
    const { Item, Key } = input as PutItemCommandInput & { Key?: PutItemCommandInput['Item'] };
    if (name === 'PutItemCommand') items.set(Item!.pk!.S!.split('#')[0]!, Item!);
    return name === 'GetItemCommand' ? { Item: items.get(Key!.pk!.S!.split('#')[0]!) } : {};
  };
  return { items, table: { name: 'meta', client: { send } as unknown as DynamoDBClient } };
}

describe('alerts are kept', () => {
  const retentionMs = 400 * DAY_MS;
  const closedAtMs = openedAtMs + 30 * DAY_MS;
  const expiryS = (ms: number) => String((ms + retentionMs) / 1000);

  test('without end while they are open, and for the retention after their end', async () => {
    const { items, table } = recordingTable();
    const store = new AlertStore(table, retentionMs);
    await store.record(TENANT, [event({})]);
    expect(items.get('open-alerts')!.expiresAt).toBeUndefined();
    expect(items.get('alert-logs')!.expiresAt!.N).toBe(expiryS(openedAtMs));

    await store.record(TENANT, [event({ kind: 'closed', status: 'OK', atMs: closedAtMs })]);
    expect(items.get('alerts')!.expiresAt!.N).toBe(expiryS(closedAtMs));
    expect(items.get('alert-logs')!.expiresAt!.N).toBe(expiryS(closedAtMs));
  });

  test('as long when a memo is added later', async () => {
    const { items, table } = recordingTable();
    const store = new AlertStore(table, retentionMs);
    await store.record(TENANT, [event({ kind: 'closed', status: 'OK', atMs: closedAtMs })]);
    expect(await store.setMemo(TENANT, '1abc', 'it was the disk')).toBe(true);
    expect(JSON.parse(items.get('alerts')!.json!.S!)).toMatchObject({ alert: { memo: 'it was the disk' } });
    expect(items.get('alerts')!.expiresAt!.N).toBe(expiryS(closedAtMs));
  });
});

describe('an alert that closes at the same time', () => {
  const closed = event({ kind: 'closed', status: 'OK', atMs: openedAtMs + 60_000 });

  async function openAlert() {
    const table = new MemoryTable();
    const store = new AlertStore(table, DAY_MS);
    await store.record(TENANT, [event({})]);
    return { table, store, close: () => store.record(TENANT, [closed]) };
  }

  test('is found by a reader', async () => {
    const { table, store, close } = await openAlert();
    table.before('GetItem', 'open-alerts', close);
    expect(await store.get(TENANT, '1abc')).toMatchObject({ status: 'OK' });
  });

  test('is listed', async () => {
    const { table, store, close } = await openAlert();
    table.before('Query', 'open-alerts', close);
    const { items } = await store.list(TENANT, { withClosed: true, limit: 10 });
    expect(items).toMatchObject([{ id: '1abc', status: 'OK' }]);
  });

  test('keeps the memo that a user sets', async () => {
    const { table, store, close } = await openAlert();
    table.before('PutItem', 'alerts', () => store.setMemo(TENANT, '1abc', 'it was the disk'));
    await close();
    expect(await store.get(TENANT, '1abc')).toMatchObject({ status: 'OK', memo: 'it was the disk' });
  });

  test('does not stay among the open alerts', async () => {
    const { table, store, close } = await openAlert();
    table.before('GetItem', 'open-alerts', close);
    await store.record(TENANT, [event({ kind: 'updated', atMs: openedAtMs + 30_000 })]);
    expect(await store.list(TENANT, { withClosed: false, limit: 10 })).toMatchObject({ items: [] });
    expect(await store.get(TENANT, '1abc')).toMatchObject({ status: 'OK' });
  });
});
