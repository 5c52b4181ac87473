import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import timers from 'node:timers/promises';
import {
  GetObjectCommand,
  NoSuchKey,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { SignatureV4 } from '@smithy/signature-v4';
import { getDirectly } from '../../../shared/platform/direct-object';
import { takeUnits } from '../../../shared/platform/units';
import { Sha256 } from '../../support/sha256';

describe('a client that gets objects directly', () => {
  const credentials = { accessKeyId: 'id', secretAccessKey: 'secret', sessionToken: 'token' };
  let seen: IncomingMessage[] = [];
  let responses: { status: number; body: string; headers?: Record<string, string> }[] = [];
  let server: Server;
  let client: S3Client;

  beforeAll(async () => {
    server = createServer((request, response) => {
      request.resume();
      seen.push(request);
      const { status, body, headers } = responses.shift()!;
      if (status === 0) return void request.socket.destroy();
      response.writeHead(status, headers).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    process.env.AWS_ENDPOINT_URL_S3 = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    client = getDirectly(new S3Client({ region: 'us-east-1', credentials, forcePathStyle: true }));
  });

  afterAll(() => {
    delete process.env.AWS_ENDPOINT_URL_S3;
    client.destroy();
    server.close();
  });

  beforeEach(() => {
    seen = [];
    takeUnits();
  });

  const Key = 'archive/v1/tenant=a b/d\u00e9+é~(1).parquet';
  const get = new GetObjectCommand({ Bucket: 'b', Key, Range: 'bytes=2-4', IfMatch: '"e"' });
  const part = { status: 206, body: 'abc', headers: { etag: '"e"', 'content-range': 'bytes 2-4/9' } };
  const isBySdk = () => seen.map(({ headers }) => headers['x-amz-user-agent'] !== undefined);

  test('asks for what the SDK would, signed, and reads the answer as it would', async () => {
    responses = [part, part];
    const direct = await client.send(get);
    const bySdk = await client.send(get, {});
    expect(isBySdk()).toEqual([false, true]);
    const [own, sdk] = seen as [IncomingMessage, IncomingMessage];
    expect(own.url).toBe(sdk.url!.split('?')[0]);
    for (const name of ['host', 'range', 'if-match', 'x-amz-content-sha256'])
      expect(own.headers[name]).toBe(sdk.headers[name]);
    for (const { ETag, ContentRange, Body } of [direct, bySdk]) {
      expect({ ETag, ContentRange }).toEqual({ ETag: '"e"', ContentRange: 'bytes 2-4/9' });
      expect(Buffer.from(await Body!.transformToByteArray()).toString()).toBe('abc');
    }
    expect(takeUnits().get('ObjectGets')).toBe(1);
  });

  test('signs as the SDK does', async () => {
    responses = [part];
    await client.send(get);
    const [{ url, headers }] = seen as [IncomingMessage];
    const { authorization, connection: _, ...rest } = headers as Record<string, string>;
    const signer = new SignatureV4({
      credentials,
      region: 'us-east-1',
      service: 's3',
      sha256: Sha256,
      uriEscapePath: false,
    });
    const request = { method: 'GET', protocol: 'http:', hostname: '', path: url!, query: {}, headers: rest };
    const time = rest['x-amz-date']!.replace(/(....)(..)(..T..)(..)/, '$1-$2-$3:$4:');
    const signed = await signer.sign(request, { signingDate: new Date(time) });
    expect(authorization).toBe(signed.headers.authorization);
  });

  test.each([
    {
      name: 'a missing object',
      status: 404,
      body: '<Error><Code>NoSuchKey</Code></Error>',
      error: NoSuchKey,
    },
    { name: 'a replaced object', status: 412, body: '', error: S3ServiceException },
  ])('leaves $name to the SDK', async ({ error, ...response }) => {
    responses = [response, response];
    await expect(client.send(get)).rejects.toBeInstanceOf(error);
    expect(isBySdk()).toEqual([false, true]);
    expect(takeUnits()).toEqual(new Map([['CallsRepeated', 1]]));
  });

  test.each([
    { name: 'a 503', status: 503, body: '' },
    { name: 'a connection cut', status: 0, body: '' },
  ])('leaves $name to the SDK, which asks again', async (response) => {
    responses = [response, part];
    expect((await client.send(get)).ETag).toBe('"e"');
    expect(isBySdk()).toEqual([false, true]);
  });

  test('waits before the SDK asks again for an object that S3 throttled', async () => {
    const random = jest.spyOn(Math, 'random').mockReturnValue(0.25);
    const timer = jest.spyOn(timers, 'setTimeout');
    responses = [{ status: 503, body: '<Error><Code>SlowDown</Code></Error>' }, part];
    expect((await client.send(get)).ETag).toBe('"e"');
    expect(timer.mock.calls.map(([ms]) => ms)).toEqual([250]);
    random.mockRestore();
    timer.mockRestore();
  });

  test('leaves other commands, and commands with unknown parameters, to the SDK', async () => {
    responses = [{ status: 200, body: '' }, part];
    await client.send(new PutObjectCommand({ Bucket: 'b', Key: 'k', Body: 'x' }));
    await client.send(new GetObjectCommand({ Bucket: 'b', Key: 'k', VersionId: '1' }));
    expect(isBySdk()).toEqual([true, true]);
  });
});
