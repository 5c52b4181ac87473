import { setTimeout as sleep } from 'node:timers/promises';
import { DeleteItemCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Redis } from 'ioredis';
import type { Call } from '../../scripts/faults/call';
import { Faults } from '../../scripts/faults/faults';
import { Random } from '../../scripts/faults/random';
import type { WholeResponse } from '../../scripts/local/forward';
import { localAws } from '../../scripts/local/provision';
import { type RunningStack, startStack } from '../../scripts/local/stack';
import { physicalName } from '../../scripts/local/template';
import { archive } from '../../scripts/ops/archive';
import { drain } from '../../scripts/ops/drain';
import { Functions } from '../../scripts/ops/invoke';
import { ApiClient } from '../../scripts/soak/api-client';
import { expireLeases } from '../../scripts/soak/chaos';
import { ENCODINGS } from '../../scripts/soak/encodings';
import { Ledger, type Sample } from '../../scripts/soak/ledger';
import { type Labels, metricOf, sourceOf } from '../../shared/model/labels';
import { metaKeys } from '../../shared/platform/keys';
import type { RecoveryStatus } from '../../shared/recovery/replay';
import { SHARED_SETTINGS } from '../support/local-stack';
import { PATIENCE_MS, until } from '../support/until';

const ALL = { before: 8.64e15, purge: true };

describe('under faults between functions, stores and the stream, no sample is lost, doubled or wrong', () => {
  const faults = new Faults();
  let stack: RunningStack;
  let functions: Functions;
  let redis: Redis;
  let dynamodb: DynamoDBClient;
  let ledger: Ledger;
  let client: ApiClient;
  let random: Random;
  let hosts = 0;
  const start = Math.floor(Date.now() / 1000) - 7 * 3600;

  beforeAll(async () => {
    const settings = SHARED_SETTINGS.shortWindows;
    stack = await startStack({ port: 0, dataDir: undefined, settings, report: () => {}, faults });
    functions = new Functions(stack.addresses.url);
    redis = new Redis(stack.addresses.redisUrl);
    dynamodb = new DynamoDBClient(localAws(Number(new URL(stack.addresses.awsEndpoint).port)));
  });

  afterAll(async () => {
    faults.off();
    redis?.disconnect();
    dynamodb?.destroy();
    functions?.close();
    await stack?.stop();
  });

  beforeEach(() => {
    ledger = new Ledger();
    client = new ApiClient(stack.addresses.url, stack.addresses.apiKey, ledger);
    random = new Random(1);
  });

  // A failed test must not leave its faults active for the next one.
  afterEach(() => faults.off());

  const host = () => client.createHost(`faulty${hosts++}`);
  const drainAll = () => drain(functions, () => {});
  const archiveAll = () => archive(functions, ALL, () => {});

  /** Posts until the samples are acknowledged, as an agent does. */
  async function post(samples: readonly Sample[]): Promise<void> {
    while ((await client.post(samples)) !== 'acknowledged') await sleep(50);
  }

  /** One sample for each of several metrics, at each of several seconds. */
  const samplesOf = (hostId: string, seconds: readonly number[], value: number): Sample[] =>
    seconds.flatMap((second) =>
      Array.from({ length: 5 }, (_, m) => ({
        labels: metricOf(sourceOf.host(hostId), `m${m}`),
        time: start + second,
        value: value + m / 10,
      })),
    );

  /** Posts rounds of a host: new seconds, and corrections of old ones. */
  async function postRounds(hostId: string, from: number, to: number): Promise<void> {
    for (let round = from; round < to; round++) {
      // Spread the samples over several windows.
      await post(samplesOf(hostId, [round * 60], round));
      if (round % 3 === 2) await post(samplesOf(hostId, [random.integer(0, round) * 60], round + 0.5));
    }
  }

  /** Lifts every fault. Then expects every acknowledged sample once, with its last value. */
  async function expectWhole(): Promise<void> {
    faults.off();
    // The next drain would wait for the leases of failed flushers.
    await expireLeases(redis);
    await ingested();
    expect(ledger.acknowledged).toBeGreaterThan(0);
  }

  /** Waits until every acknowledged sample can be read, once and with its last value. */
  async function ingested(): Promise<void> {
    const deadline = Date.now() + PATIENCE_MS;
    const isInTime = () => Date.now() < deadline;
    const read = (labels: Labels, from: number, to: number) => client.read(labels, from, to, isInTime);
    const flaws = await ledger.verify(read, async () => {
      await sleep(20);
      return isInTime();
    });
    expect(flaws).toEqual({ lost: 0, doubled: 0, wrong: 0, examples: [] });
  }

  /** Makes the next flusher record the primaries again, as if none had run before. */
  const forgetPrimaries = () =>
    dynamodb.send(new DeleteItemCommand({ TableName: physicalName('MetaTable'), Key: metaKeys.era }));

  /**
   * Waits until no loss is open. A flusher that was killed in its first runs may have left a state that looks
   * like a loss.
   */
  const recovered = () =>
    until(
      'the end of recovery',
      () => functions.invoke<RecoveryStatus>('recovery', {}),
      ({ loss, replay }) => !loss?.isOpen && replay?.state !== 'running',
    );

  const isCall =
    (functionName: string, operation: string) =>
    (call: Call): boolean =>
      call.functionName === functionName && call.operation === operation;

  /** Repeats `again` until `work` ends. @returns the number of repetitions */
  async function meanwhile(work: Promise<unknown>, again: () => Promise<unknown>): Promise<number> {
    let isOver = false;
    let times = 0;
    const ended = work.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      await again();
      times++;
    }
    await ended;
    return times;
  }

  test('flusher and archiver are killed before and after each of their changes', async () => {
    const hostId = await host();
    for (const [victim, run] of [
      [
        'flusher',
        async () => {
          await functions.invoke('flusher', { drain: true });
          // Run the flusher as the schedule does, which stores flushed-until times.
          await functions.invoke('flusher', {});
        },
      ],
      ['archiver', () => functions.invoke('archiver', ALL)],
    ] as const) {
      for (let round = 0, isKilled = true; isKilled; round++) {
        await postRounds(hostId, round, round + 2);
        await ingested();
        if (victim === 'archiver') await drainAll();
        else await forgetPrimaries();
        const kill = faults.killSomewhereNew(victim);
        await run().catch(() => {});
        kill.lift();
        isKilled = kill.hits > 0;
        // Expire the killed function's leases, because the next run would otherwise skip their windows.
        await expireLeases(redis);
      }
    }
    // Take the points before the last `archiveAll`. Nothing kills its archiver, so a change that it is the
    // first to make would count as missed.
    const points = faults.killPoints.filter(({ point }) => /^(flusher|archiver) /.test(point));
    await recovered();
    await drainAll();
    await archiveAll();
    expect(points.filter(({ killed }) => killed.length < 2)).toEqual([]);
    expect(points.map(({ point }) => point)).toEqual(expect.arrayContaining(CHANGES));
    await expectWhole();
  });

  test('flushes race 20,000 appends', async () => {
    const hostIds = await Promise.all(Array.from({ length: 4 }, host));
    let trims = 0;
    // Counts the flushers' trims, and lets them pass.
    const watching = faults.rule({
      matches: isCall('flusher', 'trim'),
      fault: () => {
        trims++;
        return undefined;
      },
    });
    const posting = Promise.all(
      hostIds.map(async (hostId) => {
        // Post more than 5,000 seconds if the flushers were slow to begin.
        for (let from = 0; from < 5_000 || trims === 0; from += 250)
          await post(
            Array.from({ length: 250 }, (_, i) => ({
              labels: metricOf(sourceOf.host(hostId), 'race'),
              time: start + from + i,
              value: (from + i) / 7,
            })),
          );
      }),
    );
    await meanwhile(posting, drainAll);
    watching.lift();
    expect(ledger.acknowledged).toBeGreaterThanOrEqual(20_000);
    await expectWhole();
  });

  test.each([
    { name: 'after it has taken the lease', phase: 'after' as const, operation: 'lease' },
    { name: 'after it has written the chunk', phase: 'after' as const, operation: 'PutItem warm' },
    { name: 'before it trims', phase: 'before' as const, operation: 'trim' },
  ])(
    "a flusher's lease expires $name, and before it goes on a second flusher runs and more is posted",
    async ({ phase, operation }) => {
      // Drain everything, so that the paused call is one for this host.
      await drainAll();
      const hostId = await host();
      await postRounds(hostId, 0, 6);
      await ingested();
      const pause = faults.pauseAt(phase, isCall('flusher', operation), async () => {
        await expireLeases(redis);
        await postRounds(hostId, 4, 8);
        await ingested();
        await drainAll();
        // These are the frames that the first flusher would remove, if it could.
        await postRounds(hostId, 0, 9);
        await ingested();
      });
      await functions.invoke('flusher', { drain: true });
      expect(pause.hits).toBe(1);
      await expectWhole();
    },
  );

  test("a trim's reply is lost, and the trim is sent again", async () => {
    const hostId = await host();
    await postRounds(hostId, 0, 12);
    await ingested();
    const lost = faults.rule({
      matches: isCall('flusher', 'trim'),
      times: 1,
      fault: () => ({
        kind: 'interrupt',
        phase: 'after',
        act: async () => {
          // Post frames that take the place of the removed ones, before the trim is sent again.
          await postRounds(hostId, 0, 12);
          await ingested();
          return false;
        },
      }),
    });
    await drainAll();
    expect(lost.hits).toBe(1);
    await expectWhole();
  });

  test('connections to Redis are cut every 50 ms', async () => {
    const hostId = await host();
    let cut = 0;
    const timer = setInterval(() => {
      cut += faults.cutRedis();
    }, 50);
    for (let from = 0; cut <= 5; from += 60)
      await meanwhile(postRounds(hostId, from, from + 60), () =>
        functions.invoke('flusher', { drain: true }).catch(() => {}),
      );
    clearInterval(timer);
    await expectWhole();
  });

  test('every batch is delivered one to five times', async () => {
    const hostId = await host();
    let repeated = 0;
    faults.onDeliver = () => {
      const times = random.integer(1, 5);
      repeated += times - 1;
      return { times, delayMs: random.integer(0, 50) };
    };
    // On a loaded machine, forty rounds may be delivered in only a few batches. So repeat them.
    for (let from = 0; repeated <= 5; from += 40) {
      await meanwhile(postRounds(hostId, from, from + 40), drainAll);
      await ingested();
    }
    await expectWhole();
  });

  test('a stream that takes one record and refuses the others is a 503 with Retry-After, never a 2xx', async () => {
    const hostIds = await Promise.all(Array.from({ length: 8 }, host));
    const { url, apiKey } = stack.addresses;
    let taken = 0;
    faults.rule({
      matches: isCall('post', 'PutRecords'),
      // One record is stored before the client hears that the others are not.
      fault: () => ({
        kind: 'respond',
        respond: async (request, forward) => {
          const { Records: given, ...rest } = JSON.parse(request.body.toString()) as { Records: object[] };
          const isFirst = taken++ === 0;
          const first = JSON.stringify({ ...rest, Records: given.slice(0, 1) });
          const stored = isFirst ? await forward({ ...request, body: Buffer.from(first) }) : undefined;
          const refused = { ErrorCode: 'ProvisionedThroughputExceededException', ErrorMessage: 'refused' };
          const Records = [
            ...(stored === undefined ? [] : JSON.parse(stored.body.toString()).Records),
            ...given.slice(isFirst ? 1 : 0).map(() => refused),
          ];
          const FailedRecordCount = given.length - (isFirst ? 1 : 0);
          return awsResponse(200, { FailedRecordCount, Records });
        },
      }),
    });
    const samples = hostIds.flatMap((hostId) => samplesOf(hostId, [0], 1));
    const outcome = ledger.sending(samples);
    const response = await fetch(new URL('/api/v0/tsdb', url), {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: ENCODINGS.mackerel(samples).body,
    });
    expect(response.status).toBe(503);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    const { error } = (await response.json()) as { error: { message: string } };
    expect(error.message).toMatch(/^the stream refused \d+ of \d+ records; try again$/);
    expect(taken).toBeGreaterThan(0);
    outcome('unknown');
    faults.off();
    await post(samples);
    await expectWhole();
  });
});

/** A response of an AWS service that uses JSON. */
function awsResponse(status: number, body: object): WholeResponse {
  const headers = { 'content-type': 'application/x-amz-json-1.1' };
  return { status, headers, body: Buffer.from(JSON.stringify(body)) };
}

/**
 * Every change to a store at which a flusher or an archiver may be killed. If the test above does not reach one of
 * them, it ended too early.
 */
const CHANGES = [
  'flusher dynamodb PutItem recovery era',
  'flusher dynamodb PutItem recovery flushed',
  'archiver dynamodb DeleteItem warm',
  'archiver dynamodb UpdateItem manifest SET archived',
  'archiver s3 PUT archive',
  'flusher dynamodb PutItem warm',
  'flusher dynamodb UpdateItem manifest ADD changes',
  'flusher redis lease',
  'flusher redis survey',
  'flusher redis trim',
];
