import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KinesisClient } from '@aws-sdk/client-kinesis';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import fc from 'fast-check';
import { cutCalls, putRecords, StreamUnavailableError } from '../../../shared/stream/put';

/** Answers PutRecords over HTTP as Kinesis does. The test decides the outcome of each record. */
class Stream {
  /** Data of the accepted and of the rejected records, in order of arrival. */
  readonly taken: string[] = [];
  readonly refused: string[] = [];
  calls = 0;
  /** Whether a record is accepted, or `undefined` if the whole call fails with a 500. */
  takes: (data: string) => boolean | undefined = () => true;
  private readonly server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { Records } = JSON.parse(Buffer.concat(chunks).toString()) as { Records: { Data: string }[] };
    this.calls++;
    const data = Records.map((record) => Buffer.from(record.Data, 'base64').toString());
    const outcomes = data.map((each) => this.takes(each));
    response.setHeader('content-type', 'application/x-amz-json-1.1');
    if (outcomes.includes(undefined)) {
      response.statusCode = 500;
      response.end(JSON.stringify({ __type: 'InternalFailure' }));
      return;
    }
    data.forEach((each, i) => {
      (outcomes[i] ? this.taken : this.refused).push(each);
    });
    response.end(
      JSON.stringify({
        FailedRecordCount: outcomes.filter((isTaken) => !isTaken).length,
        Records: outcomes.map((isTaken, i) =>
          isTaken
            ? { SequenceNumber: String(i), ShardId: 'shardId-0' }
            : { ErrorCode: 'ProvisionedThroughputExceededException', ErrorMessage: 'Rate exceeded' },
        ),
      }),
    );
  }).listen(0, '127.0.0.1');

  async client(): Promise<KinesisClient> {
    if (!this.server.listening) await once(this.server, 'listening');
    return new KinesisClient({
      endpoint: `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`,
      region: 'us-east-1',
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
      maxAttempts: 3,
      requestHandler: new NodeHttpHandler(),
    });
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

describe('putting records into the stream', () => {
  let stream: Stream;
  let client: KinesisClient;
  const records = Array.from({ length: 20 }, (_, n) => ({ partitionKey: 'k', data: Buffer.from(`r${n}`) }));
  const all = records.map(({ data }) => data.toString());
  // The random number 0 gives the shortest delays.
  const put = () => putRecords(client, 's', records, () => 0);

  beforeEach(async () => {
    stream = new Stream();
    client = await stream.client();
  });

  afterEach(() => {
    client.destroy();
    stream.close();
  });

  test('repeats refused records, alone, until the stream has each once', async () => {
    const tries = new Map<string, number>();
    stream.takes = (data) => {
      const tried = (tries.get(data) ?? 0) + 1;
      tries.set(data, tried);
      return tried > Number(data.slice(1)) % 4;
    };
    await put();
    expect([...stream.taken].sort()).toEqual([...all].sort());
    expect(stream.calls).toBe(4);
    expect(stream.refused).toHaveLength(5 * (1 + 2 + 3));
  });

  test('fails in bounded time when the stream keeps refusing a record, and says how many are missing', async () => {
    stream.takes = (data) => data !== 'r7';
    await expect(put()).rejects.toThrow(new StreamUnavailableError('the stream refused 1 of 20 records'));
    expect(stream.calls).toBe(6);
    expect(stream.taken).toHaveLength(19);
  });

  test('repeats a call that fails as a whole, and fails if it keeps failing', async () => {
    let failures = 2;
    stream.takes = () => (failures-- > 0 ? undefined : true);
    await put();
    expect(stream.taken).toEqual(all);
    stream.takes = () => undefined;
    await expect(put()).rejects.toThrow();
    expect(stream.taken).toEqual(all);
  });

  test('cuts calls of at most 500 records and 9 MiB, each record once, in order', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 1, max: 700 }), fc.constantFrom(1, 1_000, 1_048_000)), {
          maxLength: 4,
        }),
        (runs) => {
          const shared = new Map<number, Buffer>();
          const sized = (bytes: number) => {
            if (!shared.has(bytes)) shared.set(bytes, Buffer.alloc(bytes));
            return shared.get(bytes)!;
          };
          const many = runs.flatMap(([count, bytes]) =>
            Array.from({ length: count }, (_, i) => ({ partitionKey: String(i), data: sized(bytes) })),
          );
          const calls = cutCalls(many);
          expect(calls.flat()).toEqual(many);
          for (const call of calls) {
            expect(call.length).toBeLessThanOrEqual(500);
            expect(call.reduce((sum, { data }) => sum + data.length, 0)).toBeLessThanOrEqual(9 * 1024 * 1024);
          }
        },
      ),
    );
  });
});
