import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import fc from 'fast-check';
import { DeliveryError, postOutside } from '../../../../shared/alerting/delivery/post-outside';

/**
 * Whatever a receiver's server answers, the request ends in time, and either succeeds or fails. No error repeats the
 * answer's text.
 */
describe('the answer of a receiver', () => {
  let server: Server;
  let url: string;
  let answer: (socket: Socket) => void;

  beforeAll(async () => {
    server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => answer(socket));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  });

  afterAll(() => {
    server.close();
  });

  const LIMIT_MS = 300;
  /** @returns undefined when the receiver accepted the request */
  const failureOf = async (): Promise<unknown> => {
    const startedMs = performance.now();
    const failure = await postOutside({ url, json: '{}' }, true, LIMIT_MS).then(
      () => undefined,
      (error: unknown) => error,
    );
    // Far above the limit, since the machine may be busy. Without a limit, some of the answers never end.
    expect(performance.now() - startedMs).toBeLessThan(100 * LIMIT_MS);
    if (failure !== undefined) {
      expect(failure).toBeInstanceOf(DeliveryError);
      expect((failure as Error).message).not.toContain('SECRET');
      expect((failure as Error).message.length).toBeLessThan(300);
    }
    return failure;
  };

  test('may be any bytes', async () => {
    const head = fc.oneof(
      fc.constant(Buffer.alloc(0)),
      fc.integer({ min: 0, max: 99_999 }).map((status) => Buffer.from(`HTTP/1.1 ${status} SECRET\r\n`)),
      fc
        .tuple(fc.constantFrom('content-length', 'transfer-encoding', 'location', 'upgrade'), fc.string())
        .map(([name, value]) => Buffer.from(`HTTP/1.1 200 OK\r\n${name}: ${value}\r\n\r\n`)),
    );
    await fc.assert(
      fc.asyncProperty(head, fc.uint8Array({ maxLength: 200 }), async (first, rest) => {
        answer = (socket) => socket.end(Buffer.concat([first, rest]));
        await failureOf();
      }),
      { numRuns: 100 },
    );
  });

  const endless = (head: string, part: string) => (socket: Socket) => {
    socket.write(head);
    const write = () => {
      while (!socket.destroyed && socket.write(part));
      if (!socket.destroyed) socket.once('drain', write);
    };
    write();
  };

  test.each<{ name: string; answer: (socket: Socket) => void; isTaken: boolean }>([
    {
      name: 'a body without end is cut off; the status counts',
      answer: endless('HTTP/1.1 200 OK\r\n\r\n', 'SECRET'.repeat(10_000)),
      isTaken: true,
    },
    {
      name: 'a slow body is cut off; the status counts',
      answer: (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nx'),
      isTaken: true,
    },
    { name: 'silence fails', answer: () => {}, isTaken: false },
    { name: 'half a status fails', answer: (socket) => socket.write('HTTP/1.1 20'), isTaken: false },
    {
      name: 'headers without end fail',
      answer: endless('HTTP/1.1 200 OK\r\n', 'x: SECRET\r\n'),
      isTaken: false,
    },
    {
      name: 'preliminary answers without end fail',
      answer: endless('', 'HTTP/1.1 103 Early Hints\r\nlink: SECRET\r\n\r\n'),
      isTaken: false,
    },
    {
      name: 'another protocol fails',
      answer: (socket) => socket.end('HTTP/1.1 101 SECRET\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
      isTaken: false,
    },
    {
      name: 'another protocol that stays open fails',
      answer: (socket) => socket.write('HTTP/1.1 101 SECRET\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
      isTaken: false,
    },
    {
      name: 'two lengths fail',
      answer: (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx'),
      isTaken: false,
    },
    { name: 'a reset fails', answer: (socket) => socket.resetAndDestroy(), isTaken: false },
    {
      name: 'a redirect to the metadata service fails for good',
      answer: (socket) =>
        socket.end(
          'HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/SECRET\r\ncontent-length: 0\r\n\r\n',
        ),
      isTaken: false,
    },
  ])('$name', async ({ answer: given, isTaken }) => {
    answer = given;
    expect((await failureOf()) === undefined).toBe(isTaken);
  });
});
