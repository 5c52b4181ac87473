/** Sends the requests that round-plan.ts plans, round by round, and combines the responses. */
import type { Block } from '../codec';
import type { ManifestDay } from '../cold/manifest';
import { readCold } from '../cold/read';
import { readObjects } from '../cold/rollup-read';
import { DAY_MS } from '../model/duration';
import type { Layout } from '../model/layout';
import type { Day } from '../model/placement';
import type { LocatedBlock } from '../model/selection';
import { mapLimited } from '../platform/concurrency';
import { readWarm } from '../warm/read';
import type { DayPlan } from './plan';
import { layoutLookup, partitionsOf, type ReadDependencies, type ReadPlan } from './read-plan';
import { columnsFor, pointsOf } from './rolled-points';
import { planRounds, type Requests, type Responses, type Round, type RoundFacts } from './round-plan';
import { estimateSamples, leastSamples } from './sample-estimate';

/** Maximum number of requests in progress. */
const PARALLEL = 16;
/** Maximum clock skew between a purge and the archiver that ran before it, in ms. */
const CLOCK_SKEW_MS = 30_000;

/**
 * Reads days from the tiers beyond memory. The caller must already have read memory, so that samples that leave memory
 * between the two reads are seen at least once.
 *
 * @param days at least one
 * @param fromHot the blocks that were read from memory
 * @param counted the same blocks without samples that are deleted or outside the range
 */
export async function readRounds(
  plan: ReadPlan,
  days: readonly DayPlan[],
  fromHot: readonly LocatedBlock[],
  counted: readonly Block[],
): Promise<Responses> {
  const { dependencies, request, selection, grains, tombstones } = plan;
  const leastInHot = leastSamples(counted);
  expectSamples(plan, (series) => (series === request.wanted ? leastInHot : 0));
  return runRounds((requests) => fetchRound(plan, requests, leastInHot), dependencies, {
    archivedUntilMs: dependencies.now() - dependencies.archiveAfterMs,
    grains,
    days,
    hotTimes: fromHot.flatMap(({ block: { timestamps } }) =>
      timestamps.length === 0 ? [] : [{ firstMs: timestamps[0]!, lastMs: timestamps.at(-1)! }],
    ),
    hasRead: (day) => selection.groups.every((group) => dependencies.warm.cache.hasRead(day, group)),
    range: request.range,
    groups: selection.groups,
    deletions: request.deletions,
    tombstones,
  });
}

/**
 * Reports the minimum number of samples that the read will return to each query that shares the read. A query whose
 * budget is exceeded stops; the others continue.
 *
 * @throws {SelectLimitError} when the number exceeds every budget
 */
function expectSamples({ homeId, request: { expected } }: ReadPlan, least: (wanted: Layout) => number): void {
  const refused = expected.filter((each) => !each.expect(homeId, least));
  if (refused.length === expected.length) refused[0]?.budget.check();
}

/**
 * Runs all rounds of a read. If the rounds took so long that a purge may have run in the meantime, reads the manifest
 * again. If it now names different objects, starts over: a purge may have removed warm items whose samples are not in
 * the objects that this read used.
 *
 * @param fetch sends the requests of a round
 */
export async function runRounds(
  fetch: (requests: Requests) => Promise<Partial<Responses>>,
  { purgeAfterMs, now }: Pick<ReadDependencies, 'purgeAfterMs' | 'now'>,
  facts: RoundFacts,
): Promise<Responses> {
  const { days } = facts;
  for (let before = 0; ; ) {
    const beganMs = now();
    const found = await fetchAll(fetch, planRounds(facts), before);
    const tookMs = now() - beganMs;
    if (tookMs >= 0 && tookMs < purgeAfterMs - CLOCK_SKEW_MS) return found;
    const { manifest } = await fetch({ manifest: days });
    before = found.rounds! + 1;
    if (days.every(({ day }) => objectsOf(found, day) === objectsOf({ manifest }, day)))
      return { ...found, rounds: before };
  }
}

/** Identifies a day's objects; undefined when there are none. */
function objectsOf({ manifest }: Partial<Responses>, day: Day): string | undefined {
  return manifest?.get(day)?.archived?.identity;
}

/**
 * Runs the rounds of a read, and combines their responses.
 *
 * @param before number of earlier rounds of the read
 */
async function fetchAll(
  fetch: (requests: Requests) => Promise<Partial<Responses>>,
  first: Round,
  before: number,
): Promise<Responses> {
  let all: Responses = { manifest: new Map() };
  let rounds = before;
  for (let round: Round | undefined = first; round !== undefined; ) {
    const found = await fetch(round.requests);
    all = {
      ...all,
      ...found,
      rounds: ++rounds,
      warm: [...(all.warm ?? []), ...(found.warm ?? [])],
      cold: [...(all.cold ?? []), ...(found.cold ?? [])],
      warmMs: (all.warmMs ?? 0) + (found.warmMs ?? 0),
      coldMs: (all.coldMs ?? 0) + (found.coldMs ?? 0),
    };
    round = round.next?.(all);
  }
  return all;
}

async function fetchRound(
  plan: ReadPlan,
  requests: Requests,
  leastInHot: number,
): Promise<Partial<Responses>> {
  const { dependencies, tenant, homeId, days, grains } = plan;
  const range = [days[0]!.day, days.at(-1)!.day] as const;
  const [manifest, directory, rolledUp, warm, archive] = await Promise.all([
    requests.manifest && manifestDays(plan, requests.manifest),
    requests.directory && dependencies.directory.of(tenant.id, homeId, ...range),
    requests.rollupDirectory && dependencies.rollups!.of(tenant.id, homeId, grains!.grainMs, ...range),
    requests.warm && measure(() => warmBlocks(plan, requests.warm!)),
    (requests.samples ?? requests.rollups) && measure(() => fromArchive(plan, requests, leastInHot)),
  ]);
  return {
    ...(manifest && { manifest }),
    ...(directory && { directory }),
    ...(rolledUp && { rolledUp }),
    ...(warm && { warm: warm.result, warmMs: warm.tookMs }),
    ...(archive && { ...archive.result, coldMs: archive.tookMs }),
  };
}

async function measure<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly tookMs: number }> {
  const beganMs = performance.now();
  const result = await work();
  return { result, tookMs: performance.now() - beganMs };
}

async function manifestDays(
  { dependencies }: ReadPlan,
  days: readonly DayPlan[],
): Promise<Map<Day, ManifestDay>> {
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return new Map();
  const partitions = new Map(days.map(({ day, ref }) => [day, ref.partition]));
  const found = await mapLimited(partitionsOf(days), PARALLEL, async (ref) => {
    const all = await dependencies.manifest.days(ref, first.day, last.day);
    return all.filter(({ day }) => partitions.get(day) === ref.partition);
  });
  return new Map(found.flat().map((entry) => [entry.day, entry]));
}

function warmBlocks(
  plan: ReadPlan,
  { days, manifest }: NonNullable<Requests['warm']>,
): Promise<LocatedBlock[]> {
  const { dependencies, request, selection } = plan;
  const located = days.map((each) => ({
    ...each,
    windowLengthsMs: request.windowLengthsMs,
    announcements: manifest && (manifest.get(each.day)?.announcements ?? 0),
  }));
  return readWarm(dependencies.warm, located, selection, request.beyondHot, layoutLookup(plan));
}

async function fromArchive(
  plan: ReadPlan,
  { samples, rollups = [] }: Requests,
  leastInHot: number,
): Promise<Partial<Responses>> {
  const { selection, grains, tombstones } = plan;
  const { beyondHot } = plan.request;
  const { cold } = plan.dependencies;
  const grainMs = grains?.grainMs ?? DAY_MS;
  // Count archived samples only if there are no tombstones, which might remove some of them. Memory and the archive may
  // hold the same samples, so the minimum is the larger of the two counts.
  const counted = { ...(samples && tombstones.length === 0 && { samples }), rollups };
  expectSamples(plan, (wanted) =>
    wanted === selection.wanted
      ? Math.max(leastInHot, estimateSamples(counted, selection, grainMs))
      : estimateSamples(counted, { ...selection, wanted, picks: undefined }, grainMs),
  );
  const [blocks, objects] = await Promise.all([
    samples === undefined ? [] : readCold(cold, samples.days, samples.directory, selection, beyondHot),
    rollups.length === 0 ? [] : beyondHot(() => readObjects(cold, rollups, selection, columnsFor(grains!))),
  ]);
  if (rollups.length === 0) return { cold: blocks };
  const days = rollups.reduce((sum, each) => sum + each.days, 0);
  const points = pointsOf(objects, grains!, selection.wanted.series.length);
  return { cold: blocks, points: { ...points, days: days - points.unproven.size } };
}
