import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { Faults } from '../../../scripts/faults/faults';
import type { Wiring } from '../../../scripts/local/wiring';

const PUT_ITEM = { 'x-amz-target': 'DynamoDB_20120810.PutItem' };

describe('a fault that interrupts one call of a process', () => {
  let store: Server;
  let process: ChildProcess;
  let wiring: Wiring;
  let faults: Faults;
  let seen: number;
  let lost: number;

  beforeEach(async () => {
    seen = 0;
    lost = 0;
    store = createServer((_, response) => {
      if (seen++ < lost) response.destroy();
      else response.end('{}');
    }).listen(0, '127.0.0.1');
    await once(store, 'listening');
    process = spawn('sleep', ['600']);
    await once(process, 'spawn');
    faults = new Faults();
    const address = `http://127.0.0.1:${(store.address() as AddressInfo).port}`;
    wiring = await faults.wire('flusher', { redisUrl: address, awsUrl: address, lambdaUrl: address });
    wiring.attach(process);
  });

  afterEach(() => {
    wiring.close();
    process.kill('SIGKILL');
    store.close();
    store.closeAllConnections();
  });

  const put = () =>
    fetch(wiring.addresses.awsUrl, {
      method: 'POST',
      headers: PUT_ITEM,
      body: JSON.stringify({ TableName: 'warm', Item: {} }),
    }).then(
      ({ status }) => status,
      () => 'cut',
    );

  test('pauses the next call when the response to the first one is lost', async () => {
    lost = 1;
    let pauses = 0;
    const pause = faults.pauseAt(
      'after',
      ({ operation }) => operation.startsWith('PutItem'),
      async () => pauses++,
    );
    expect(await put()).toBe('cut');
    expect([pauses, pause.hits]).toEqual([0, 0]);
    expect(await put()).toBe(200);
    expect([pauses, pause.hits]).toEqual([1, 1]);
    expect(await put()).toBe(200);
    expect([pauses, pause.hits]).toEqual([1, 1]);
  });

  test('pauses one call when several are under way', async () => {
    let pauses = 0;
    const pause = faults.pauseAt(
      'after',
      () => true,
      async () => pauses++,
    );
    expect(await Promise.all([put(), put(), put()])).toEqual([200, 200, 200]);
    expect([pauses, pause.hits]).toEqual([1, 1]);
  });

  test('marks a phase of a call as killed only when the process was killed there', async () => {
    const before = faults.killSomewhereNew('flusher');
    const died = once(process, 'exit');
    expect(await put()).toBe('cut');
    await died;
    expect(before.hits).toBe(1);
    lost = seen + 1;
    const after = faults.killSomewhereNew('flusher');
    expect(await put()).toBe('cut');
    expect(after.hits).toBe(0);
    expect(faults.killPoints.map(({ killed }) => killed)).toEqual([['before']]);
    expect(await put()).toBe('cut');
    expect(after.hits).toBe(1);
    expect(faults.killPoints.map(({ killed }) => killed)).toEqual([['before', 'after']]);
  });
});

test('a refusal of Redis counts the connections that it refuses, even if none existed when it began', async () => {
  const server = createTcpServer((socket) => socket.end('+PONG\r\n')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const faults = new Faults();
  const wiring = await faults.wire('query', { redisUrl: address, awsUrl: address, lambdaUrl: address });
  const answer = async () => {
    const socket = connect(Number(new URL(wiring.addresses.redisUrl).port), '127.0.0.1');
    return text(socket).catch(() => '');
  };
  const refusal = faults.refuseRedis();
  expect(refusal.hits).toBe(0);
  expect([await answer(), refusal.hits]).toEqual(['', 1]);
  refusal.lift();
  expect([await answer(), refusal.hits]).toEqual(['+PONG\r\n', 1]);
  wiring.close();
  server.close();
});
