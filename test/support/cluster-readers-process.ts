/** The process of {@link module:cluster-readers}. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ReadGovernor } from '../../shared/query/read-governor';
import { ClusterFeed } from './cluster-feed';
import type { Phase, ReadersCommand, ReadersFindings, ReadersTask } from './cluster-readers';
import { connectTiers, type Tiers } from './tiers';

const { redisUrl, awsPort, tenant, names, hosts, count, pauseMs } = JSON.parse(
  process.argv[2]!,
) as ReadersTask;

let feed: ClusterFeed;
let phase: Phase = 'rest';
let isOver = true;
let findings: ReadersFindings;
let running: Promise<unknown> = Promise.resolve();

const governor = new ReadGovernor({ scalingUntilMs: () => tiers.recovery.scalingUntilMs() }, Date.now);
const tiers: Tiers = connectTiers(redisUrl, awsPort, async () => {
  const { waitedMs } = governor;
  const begun = phase;
  await governor.wait();
  if (governor.waitedMs > waitedMs) findings.waits[begun]++;
});

/**
 * Waits until reads start without a delay. After a command that moves data, reads have to wait until the governor has
 * looked at the cluster again.
 */
async function unhindered(): Promise<void> {
  for (let waitedMs = NaN; governor.waitedMs !== waitedMs; ) {
    waitedMs = governor.waitedMs;
    await governor.wait();
  }
}

/** Reads hosts in turn; each read must be complete or fail. */
async function readOn(reader: number): Promise<void> {
  for (let i = reader; !isOver; i += count) {
    const host = hosts[i % hosts.length]!;
    const begunMs = performance.now();
    const lost = await feed.lostOf(host).catch((error: Error) => error.message);
    findings.readMs[phase].push(performance.now() - begunMs);
    if (lost !== 0) findings.errors.push(`${host}: ${lost}`);
    if (pauseMs > 0) await sleep(pauseMs);
  }
}

process.on('message', async (command: ReadersCommand) => {
  if (command.kind === 'appended') feed.noteAppended(hosts, command.at);
  else if (command.kind === 'phase') {
    if (command.phase === 'rest') await unhindered();
    phase = command.phase;
    process.send!(command.phase);
  } else if (command.kind === 'begin') {
    feed = new ClusterFeed(tiers, tenant, command.startMs, names);
    feed.noteAppended(hosts, 0);
    findings = {
      errors: [],
      readMs: { rest: [], drain: [], move: [] },
      waits: { rest: 0, drain: 0, move: 0 },
    };
    phase = 'rest';
    isOver = false;
    running = Promise.all(Array.from({ length: count }, (_, reader) => readOn(reader)));
  } else {
    isOver = true;
    await running;
    process.send!(findings);
  }
});
process.on('disconnect', () => process.exit());
process.send!('ready');
