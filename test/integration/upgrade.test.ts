import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  GetRecordsCommand,
  GetShardIteratorCommand,
  KinesisClient,
  ListShardsCommand,
} from '@aws-sdk/client-kinesis';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { Random } from '../../scripts/faults/random';
import { DEPLOY_PATH } from '../../scripts/local/deploy';
import { archive } from '../../scripts/ops/archive';
import { drain } from '../../scripts/ops/drain';
import { Functions } from '../../scripts/ops/invoke';
import { ApiClient } from '../../scripts/soak/api-client';
import { Ledger, type Outcome, type Sample } from '../../scripts/soak/ledger';
import { runLoad } from '../../scripts/soak/load';
import { senderOf } from '../../scripts/soak/senders';
import { watch } from '../../scripts/soak/watch';
import { FORMATS } from '../../shared/model/formats';
import type { Labels } from '../../shared/model/labels';
import type { QuarantineList } from '../../shared/operations/quarantine-commands';
import type { RedriveResult } from '../../shared/recovery/redrive';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { ops } from '../support/ops';
import { buildRelease, type Formats } from '../support/release';
import { removeRedriven } from '../support/removed-redriven';
import { Stores } from '../support/stores';
import { until } from '../support/until';

const newest = (versions: readonly number[]) => Math.max(...versions);
const oldest = (versions: readonly number[]) => Math.min(...versions);

const SETTINGS = {
  // Of the stack as it starts, before the previous release is deployed.
  recordFormat: String(oldest(FORMATS.record.writes)),
  frameFormat: String(oldest(FORMATS.frame.writes)),
  window: '10s',
  flushDelay: '1s',
  resolution: '1s',
  streamShards: '2',
  partitions: '4',
  flusherLanes: '2',
};
const LANES = 2;
const HOSTS = 5;
/** The first metric has whole numbers, whose zero bytes frames of format 2 leave out. */
/** Of each host. */
const SERIES = 4;
const POST_EVERY_MS = 250;
const MOVE_EVERY_MS = 500;
const ALL = { before: 8.64e15, purge: true };
const PATIENCE_MS = 60_000;

/** Formats that this tree can write in two versions: the next release writes the newest, the previous one the oldest. */
const WRITERS: Formats = {
  record: { reads: FORMATS.record.reads, writes: [newest(FORMATS.record.writes)] },
  frame: { reads: FORMATS.frame.reads, writes: [newest(FORMATS.frame.writes)] },
  archive: { reads: FORMATS.archive.reads, writes: [newest(FORMATS.archive.writes)] },
  manifest: { reads: FORMATS.manifest.reads, writes: [newest(FORMATS.manifest.writes)] },
  seal: { reads: FORMATS.seal.reads, writes: [newest(FORMATS.seal.writes)] },
};
const READERS: Formats = {
  record: { reads: FORMATS.record.reads, writes: [oldest(FORMATS.record.writes)] },
  frame: { reads: FORMATS.frame.reads, writes: [oldest(FORMATS.frame.writes)] },
  archive: { reads: FORMATS.archive.reads, writes: [oldest(FORMATS.archive.writes)] },
  manifest: { reads: FORMATS.manifest.reads, writes: [oldest(FORMATS.manifest.writes)] },
  seal: { reads: FORMATS.seal.reads, writes: [oldest(FORMATS.seal.writes)] },
};
/** One release further back. */
const STRANGERS: Formats = {
  record: {
    reads: FORMATS.record.reads.filter((version) => version < WRITERS.record.writes[0]),
    writes: READERS.record.writes,
  },
  frame: READERS.frame,
  archive: READERS.archive,
  manifest: READERS.manifest,
  seal: READERS.seal,
};
const POSTING = ['post', 'deleter', 'importer', 'registry'];
const MOVING = ['ingester', 'replayer', 'flusher', 'archiver', 'query'];

class CountingClient extends ApiClient {
  /** Posts that were not acknowledged at once. */
  failures = 0;

  override async post(samples: readonly Sample[]): Promise<Outcome> {
    const outcome = await super.post(samples);
    if (outcome !== 'acknowledged') this.failures++;
    return outcome;
  }
}

describe('builds that are deployed while the stack runs', () => {
  let stack: LocalStack;
  let stores: Stores;
  let functions: Functions;
  let kinesis: KinesisClient;
  let releases: { readers: string; writers: string; strangers: string };

  beforeAll(async () => {
    // First, so that the builds below reuse its synthesis.
    const readers = await buildRelease(SETTINGS, READERS);
    const [started, writers, strangers] = await Promise.all([
      startLocalStack({ settings: SETTINGS }),
      buildRelease(SETTINGS, WRITERS),
      buildRelease(SETTINGS, STRANGERS),
    ]);
    stack = started;
    releases = { readers, writers, strangers };
    stores = new Stores(stack);
    functions = new Functions(stack.url);
    kinesis = new KinesisClient({
      endpoint: stack.awsEndpoint,
      region: 'us-east-1',
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
      requestHandler: new NodeHttpHandler(),
    });
  }, 180_000);

  afterAll(async () => {
    functions?.close();
    kinesis?.destroy();
    await stores?.close();
    await stack?.stop();
    for (const folder of Object.values(releases ?? {})) rmSync(folder, { recursive: true, force: true });
  }, 60_000);

  /** Format versions of the stream's records. */
  async function recordVersions(): Promise<Set<number>> {
    const versions = new Set<number>();
    const { Shards = [] } = await kinesis.send(new ListShardsCommand({ StreamName: stack.stream }));
    for (const { ShardId } of Shards) {
      let { ShardIterator } = await kinesis.send(
        new GetShardIteratorCommand({
          StreamName: stack.stream,
          ShardId,
          ShardIteratorType: 'TRIM_HORIZON',
        }),
      );
      for (let isEnd = false; !isEnd; ) {
        const batch = await kinesis.send(new GetRecordsCommand({ ShardIterator }));
        for (const { Data } of batch.Records ?? [])
          if (Buffer.from(Data!.subarray(0, 2)).toString() === 'HR') versions.add(Data![2]!);
        ShardIterator = batch.NextShardIterator;
        isEnd = batch.Records?.length === 0 || ShardIterator === undefined;
      }
    }
    return versions;
  }

  /** Format versions of the frames in memory. */
  async function frameVersions(): Promise<Set<number>> {
    const versions = new Set<number>();
    for (const key of await stores.redis.keys('*'))
      if ((await stores.redis.type(key)) === 'list')
        for (const frame of await stores.redis.lrangeBuffer(key, 0, -1)) versions.add(frame[0]! >> 4);
    return versions;
  }

  /** Posts, reads and moves samples for as long as `during` takes; then reads everything back, also from the archive. */
  async function ledgerOf(seed: number, during: (posted: () => Promise<void>) => Promise<void>) {
    const ledger = new Ledger();
    const client = new CountingClient(stack.url, stack.apiKey, ledger);
    const senders = await Promise.all(
      Array.from({ length: HOSTS }, async (_, h) =>
        senderOf('dense', await client.createHost(`host${seed}-${h}`), SERIES),
      ),
    );
    const series = senders.flatMap((sender) => sender.series);
    const random = new Random(seed);
    const startS = Math.floor(Date.now() / 1000);
    let isOver = false;
    const load = runLoad(client, { senders, everyMs: POST_EVERY_MS, startS }, random.fork(), () => isOver);
    const watching = watch(client, { series, startS }, random.fork(), () => isOver);
    const moves = [
      ...Array.from(
        { length: LANES },
        (_, lane) => () => functions.invoke('flusher', { lane, lanes: LANES }),
      ),
      () => functions.invoke('archiver', ALL),
    ].map(async (move) => {
      while (!isOver) {
        await move();
        await sleep(MOVE_EVERY_MS);
      }
    });
    /** Waits for as many samples as five posts of each host have. */
    const posted = async () => {
      const enough = ledger.acknowledged + 5 * HOSTS * SERIES;
      await until(
        'posts',
        async () => ledger.acknowledged,
        (samples) => samples >= enough,
        PATIENCE_MS,
      );
    };
    try {
      await during(posted);
    } finally {
      isOver = true;
    }
    await Promise.all([load, ...moves]);
    const { gaps } = await watching;

    const deadline = Date.now() + PATIENCE_MS;
    const isInTime = () => Date.now() < deadline;
    const read = (labels: Labels, from: number, to: number) => client.read(labels, from, to, isInTime);
    const patience = async () => {
      await sleep(200);
      return isInTime();
    };
    const asFound = await ledger.verify(read, patience);
    await drain(functions, () => {});
    await archive(functions, ALL, () => {});
    const archived = await ledger.verify(read, async () => false);
    return { asFound, archived, gaps, failures: client.failures, acknowledged: ledger.acknowledged };
  }

  /** Counts the records in quarantine. */
  const quarantined = async () =>
    (await functions.invoke<QuarantineList>('recovery', { action: 'list' })).objects.length;

  const none = { lost: 0, doubled: 0, wrong: 0, examples: [] };

  const json = 'application/json';
  test.each([
    {
      name: 'another content type',
      type: 'text/plain',
      body: '{}',
      status: 415,
    },
    { name: 'a body that is not JSON', type: json, body: '{', status: 400, says: /not JSON/ },
    { name: 'an unknown field', type: json, body: '{"function":"post"}', status: 400, says: /function/ },
    {
      name: 'an unknown function',
      type: json,
      body: '{"functions":["poster"]}',
      status: 400,
      says: /poster/,
    },
    { name: 'an unknown setting', type: json, body: '{"settings":{"x":"1"}}', status: 400, says: /x/ },
    { name: 'a missing assembly', type: json, body: '{"assembly":"/nowhere"}', status: 400, says: /nowhere/ },
  ])('a deployment is refused: $name', async ({ type, body, status, says }) => {
    const response = await fetch(new URL(DEPLOY_PATH, stack.url), {
      method: 'POST',
      headers: { ...stack.operatorHeaders, 'content-type': type },
      body,
    });
    expect(response.status).toBe(status);
    const { error } = (await response.json()) as { error: { message: string } };
    expect(error.message).toMatch(says ?? /./);
  });

  test('are upgraded, rolled back and upgraded again under load, whichever function comes first: no sample is lost, doubled or altered', async () => {
    await stack.deploy(releases.readers);
    const result = await ledgerOf(1, async (posted) => {
      await posted();
      expect(await recordVersions()).not.toContain(WRITERS.record.writes[0]);
      expect(await frameVersions()).not.toContain(WRITERS.frame.writes[0]);

      // The writers of records first; the functions that move them are still the previous release's.
      await stack.deploy(releases.writers, POSTING);
      await posted();
      await stack.deploy(releases.writers, MOVING);
      await posted();
      expect(await recordVersions()).toContain(WRITERS.record.writes[0]);
      await until('new frames', frameVersions, (seen) => seen.has(WRITERS.frame.writes[0]), PATIENCE_MS);

      // Back, with records in the stream and frames in memory that the previous release never wrote.
      await stack.deploy(releases.readers);
      expect(await frameVersions()).toContain(WRITERS.frame.writes[0]);
      await posted();

      // And again in the other order.
      await stack.deploy(releases.writers, MOVING);
      await posted();
      await stack.deploy(releases.writers, POSTING);
      await posted();
    });
    expect(result).toMatchObject({ asFound: none, archived: none, gaps: [], failures: 0 });
    expect(result.acknowledged).toBeGreaterThan(0);
    expect(await quarantined()).toBe(0);
  }, 180_000);

  test('are rolled back too far, quarantine the records they cannot read, and the next upgrade brings those back', async () => {
    await stack.deploy(releases.writers);
    let redriven: RedriveResult | undefined;
    const result = await ledgerOf(2, async (posted) => {
      await posted();
      // Its ingester meets records that it cannot read: old ones, and those of post until it is rolled back too.
      await stack.deploy(releases.strangers, MOVING);
      await posted();
      await until('quarantine', quarantined, (records) => records >= HOSTS, PATIENCE_MS);
      await stack.deploy(releases.strangers, POSTING);
      // Some correct quarantined samples; the corrections stay the later ones.
      await posted();
      await stack.deploy(releases.writers);
      await posted();
      redriven = await ops<RedriveResult>(stack.url, 'quarantine', 'redrive');
      await posted();
    });
    expect(result).toMatchObject({ asFound: none, archived: none, gaps: [], failures: 0 });
    expect(redriven!.records).toBeGreaterThanOrEqual(HOSTS);
    expect(redriven!.poison).toBe(0);
    await removeRedriven(functions, redriven!.waiting);
    expect(await quarantined()).toBe(0);
  }, 180_000);
});
