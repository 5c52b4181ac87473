import { setTimeout as sleep } from 'node:timers/promises';
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
import type { Labels } from '../../shared/model/labels';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { PATIENCE_MS, until } from '../support/until';

const SETTINGS = {
  window: '10s',
  flushDelay: '1s',
  resolution: '1s',
  streamShards: '2',
  partitions: '4',
  flusherLanes: '2',
};
const LANES = 2;
const HOSTS = 5;
/** Number of series of each host. */
const SERIES = 4;
const POST_EVERY_MS = 250;
const MOVE_EVERY_MS = 500;
const ALL = { before: 8.64e15, purge: true };

const POSTING = ['post', 'deleter', 'importer', 'registry'];
const MOVING = ['ingester', 'replayer', 'flusher', 'archiver', 'query'];

class CountingClient extends ApiClient {
  /** Number of posts that were not acknowledged immediately. */
  failures = 0;

  override async post(samples: readonly Sample[]): Promise<Outcome> {
    const outcome = await super.post(samples);
    if (outcome !== 'acknowledged') this.failures++;
    return outcome;
  }
}

describe('functions deployed while the stack runs', () => {
  let stack: LocalStack;
  let functions: Functions;

  beforeAll(async () => {
    stack = await startLocalStack({ settings: SETTINGS });
    functions = new Functions(stack.url);
  });

  afterAll(async () => {
    functions?.close();
    await stack?.stop();
  });

  /**
   * Posts, reads and moves samples for as long as `during` takes; then reads everything again, also from the archive.
   */
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

  test('in either order, under load, lose, double and alter no sample, and refuse no post', async () => {
    const result = await ledgerOf(1, async (posted) => {
      for (const kinds of [POSTING, MOVING, MOVING, POSTING]) {
        await posted();
        await stack.deploy(kinds);
      }
      await posted();
    });
    expect(result).toMatchObject({ asFound: none, archived: none, gaps: [], failures: 0 });
    expect(result.acknowledged).toBeGreaterThan(0);
  });
});
