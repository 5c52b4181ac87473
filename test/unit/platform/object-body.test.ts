import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NoSuchKey, S3Client } from '@aws-sdk/client-s3';
import { getDirectly } from '../../../shared/platform/direct-object';
import { getObject } from '../../../shared/platform/object-body';

describe('an object that is got with its body', () => {
  /** Number of the next answers that are cut in the middle of the body. */
  let cuts = 0;
  let requests = 0;
  let isThere = true;
  let server: Server;
  let port: number;

  beforeAll(async () => {
    server = createServer((_, response) => {
      requests++;
      if (!isThere) {
        response.writeHead(404, { 'content-type': 'application/xml' });
        response.end('<Error><Code>NoSuchKey</Code></Error>');
        return;
      }
      response.writeHead(200, { 'content-length': 6, 'x-amz-meta-reason': 'young' });
      if (cuts-- > 0) response.write('abc', () => response.destroy());
      else response.end('abcdef');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ({ port } = server.address() as AddressInfo);
  });

  afterAll(() => {
    server.close();
  });

  beforeEach(() => {
    cuts = 0;
    requests = 0;
    isThere = true;
  });

  const input = { Bucket: 'b', Key: 'k' };
  const newClient = () =>
    new S3Client({
      region: 'us-east-1',
      endpoint: `http://127.0.0.1:${port}`,
      credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
      forcePathStyle: true,
    });

  test.each([
    { name: 'the SDK', direct: (client: S3Client) => client },
    { name: 'a direct call', direct: getDirectly },
  ])('is whole although $name twice got a part of it', async ({ direct }) => {
    const client = direct(newClient());
    cuts = 2;
    const { bytes, Metadata } = await getObject(client, input);
    expect(Buffer.from(bytes).toString()).toBe('abcdef');
    expect([requests, Metadata]).toEqual([3, { reason: 'young' }]);
    client.destroy();
  });

  test('is given up when each body is cut', async () => {
    const client = newClient();
    cuts = 100;
    await expect(getObject(client, input)).rejects.toThrow('aborted');
    expect(requests).toBe(5);
    client.destroy();
  });

  test('is asked for once if it does not exist', async () => {
    const client = newClient();
    isThere = false;
    await expect(getObject(client, input)).rejects.toThrow(NoSuchKey);
    expect(requests).toBe(1);
    client.destroy();
  });
});
