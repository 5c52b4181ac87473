import { createHmac } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import timers from 'node:timers/promises';
import {
  ConditionalCheckFailedException,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { SignatureV4 } from '@smithy/signature-v4';
import fc from 'fast-check';
import { callDirectly } from '../../../shared/platform/direct-call';
import { hmacSha256, makeSigner } from '../../../shared/platform/signature';
import { takeUnits } from '../../../shared/platform/units';
import { Sha256 } from '../../support/sha256';

interface Seen {
  readonly target: string;
  readonly authorization: string;
  readonly body: unknown;
  /** The SDK names itself, a direct call does not. */
  readonly isBySdk: boolean;
}

describe('a client that calls directly', () => {
  const seen: Seen[] = [];
  const charged: unknown[][] = [];
  let responses: (() => { status: number; body: string })[] = [];
  let server: Server;
  let client: DynamoDBClient;

  beforeAll(async () => {
    server = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk) => {
        text += chunk;
      });
      request.on('end', () => {
        const { headers } = request;
        seen.push({
          target: headers['x-amz-target'] as string,
          authorization: headers.authorization!,
          body: JSON.parse(text),
          isBySdk: headers['x-amz-user-agent'] !== undefined,
        });
        const { status, body } = responses.shift()!();
        if (status === 0) return void request.socket.destroy();
        response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' }).end(body);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    process.env.AWS_ENDPOINT_URL_DYNAMODB = `http://127.0.0.1:${port}`;
    client = callDirectly(
      new DynamoDBClient({
        region: 'us-east-1',
        credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
      }),
      'dynamodb',
      { GetItem: GetItemCommand, UpdateItem: UpdateItemCommand },
      (...call) => charged.push(call),
    );
  });

  afterAll(() => {
    delete process.env.AWS_ENDPOINT_URL_DYNAMODB;
    client.destroy();
    server.close();
  });

  beforeEach(() => {
    seen.length = 0;
    charged.length = 0;
    takeUnits();
  });

  const get = new GetItemCommand({ TableName: 't', Key: { pk: { B: Buffer.from([0, 255]) } } });
  const item = { status: 200, body: JSON.stringify({ Item: { B: { S: 'x' }, bytes: { B: '/wA=' } } }) };

  test('sends what the SDK would, signed, and reads the answer as it would', async () => {
    responses = [() => item];
    const { Item } = await client.send(get);
    expect(Item).toEqual({ B: { S: 'x' }, bytes: { B: Buffer.from([255, 0]) } });
    expect(seen).toEqual([
      {
        target: 'DynamoDB_20120810.GetItem',
        authorization: expect.stringMatching(
          /^AWS4-HMAC-SHA256 Credential=id\/\d{8}\/us-east-1\/dynamodb\/aws4_request, SignedHeaders=\S+, Signature=[0-9a-f]{64}$/,
        ),
        body: { TableName: 't', Key: { pk: { B: 'AP8=' } }, ReturnConsumedCapacity: 'TOTAL' },
        isBySdk: false,
      },
    ]);
    expect(charged).toEqual([['GetItemCommand', get.input, expect.objectContaining({ Item })]]);
  });

  test.each([
    { name: 'a 500', response: { status: 500, body: '{}' } },
    { name: 'throttling', response: { status: 400, body: '{"__type":"ThrottlingException"}' } },
    { name: 'an answer that is not JSON', response: { status: 200, body: '<html>' } },
    { name: 'a connection cut', response: { status: 0, body: '' } },
  ])('leaves $name to the SDK', async ({ response }) => {
    responses = [() => response, () => item];
    expect((await client.send(get)).Item?.B).toEqual({ S: 'x' });
    expect(seen.map(({ isBySdk }) => isBySdk)).toEqual([false, true]);
    expect(charged).toEqual([]);
    expect(takeUnits()).toEqual(new Map([['CallsRepeated', 1]]));
  });

  test.each([
    { name: 'a throttled call', type: 'com.amazonaws.dynamodb.v20120810#ThrottlingException', waits: true },
    { name: 'a call beyond its throughput', type: 'ProvisionedThroughputExceededException', waits: true },
    { name: 'another call that was refused', type: 'InternalServerError', waits: false },
  ])('lets $name wait before the SDK sends it again: $waits', async ({ type, waits }) => {
    const random = jest.spyOn(Math, 'random').mockReturnValue(0.25);
    const timer = jest.spyOn(timers, 'setTimeout');
    responses = [() => ({ status: 400, body: JSON.stringify({ __type: type }) }), () => item];
    await client.send(get);
    expect(timer.mock.calls.map(([ms]) => ms)).toEqual(waits ? [250] : []);
    random.mockRestore();
    timer.mockRestore();
  });

  test('returns at once that a condition does not hold, and counts the units of the write', async () => {
    const update = new UpdateItemCommand({ TableName: 't', Key: {}, ConditionExpression: 'running < :most' });
    const type = 'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException';
    responses = [() => ({ status: 400, body: JSON.stringify({ __type: type, message: 'no' }) })];
    await expect(client.send(update)).rejects.toBeInstanceOf(ConditionalCheckFailedException);
    expect(seen.map(({ isBySdk }) => isBySdk)).toEqual([false]);
    expect(charged).toEqual([['UpdateItemCommand', update.input, {}]]);
    expect(takeUnits()).toEqual(new Map());
  });

  test('leaves commands that it was not given, and calls with other options than a signal, to the SDK', async () => {
    const refusal = { status: 400, body: '{"__type":"ConditionalCheckFailedException","message":"no"}' };
    responses = [() => refusal, () => item];
    await expect(client.send(new PutItemCommand({ TableName: 't', Item: {} }))).rejects.toBeInstanceOf(
      ConditionalCheckFailedException,
    );
    await client.send(get, { requestTimeout: 60_000 });
    expect(seen.map(({ isBySdk }) => isBySdk)).toEqual([true, true]);
  });

  test.each([
    { name: 'a signal', abortSignal: AbortSignal.timeout(60_000) },
    { name: 'no signal where one may be passed', abortSignal: undefined },
  ])('calls directly with $name', async ({ abortSignal }) => {
    responses = [() => item];
    expect((await client.send(get, { abortSignal })).Item?.B).toEqual({ S: 'x' });
    expect(seen.map(({ isBySdk }) => isBySdk)).toEqual([false]);
  });

  test('signs as the SDK does', async () => {
    const text = fc.string({ unit: fc.constantFrom(...'abcXYZ019/+='), minLength: 1, maxLength: 60 });
    const signer = makeSigner('kinesis');
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          accessKeyId: text,
          secretAccessKey: text,
          sessionToken: fc.option(text, { nil: undefined }),
        }),
        fc.constantFrom('us-east-1', 'eu-central-1'),
        fc.date({ min: new Date('2020-01-01'), max: new Date('2090-01-01'), noInvalidDate: true }),
        fc.string(),
        async (credentials, region, date, body) => {
          const headers = {
            host: 'kinesis.x.amazonaws.com',
            'content-type': 'application/x-amz-json-1.1',
            'x-amz-target': 'a.B',
          };
          const request = {
            method: 'POST',
            protocol: 'https:',
            hostname: headers.host,
            path: '/',
            query: {},
            headers,
            body,
          };
          const sdk = new SignatureV4({
            credentials,
            region,
            service: 'kinesis',
            sha256: Sha256,
            applyChecksum: false,
          });
          const signed = await sdk.sign(request, { signingDate: date });
          const own = { method: 'POST', path: '/', headers, body: Buffer.from(body) } as const;
          expect(signer(own, credentials, region, date)).toEqual(signed.headers);
        },
      ),
    );
  });

  test('authenticates messages as RFC 2104 has it', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.uint8Array({ maxLength: 300 }), (secret, message) => {
        expect(hmacSha256(secret, message)).toEqual(createHmac('sha256', secret).update(message).digest());
      }),
    );
  });
});
