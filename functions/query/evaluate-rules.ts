import { zstdCompressSync } from 'node:zlib';
import {
  type AdvanceOptions,
  advanceGroup,
  endGroup,
  expectReads,
  type GroupPlan,
  planGroup,
} from '../../shared/alerting/advance-group';
import type {
  EvaluatedGroup,
  EvaluationAnswer,
  EvaluationRequest,
  GroupEvaluation,
} from '../../shared/alerting/evaluation';
import { encodeJson, encodeState, type GroupState } from '../../shared/alerting/group-state';
import type { Notification, NotificationBatch } from '../../shared/alerting/notification';
import { groupOf } from '../../shared/alerting/rule-document';
import type { RuleGroup } from '../../shared/alerting/rule-file';
import type { StoredGroup } from '../../shared/alerting/rule-groups';
import { MAX_BATCHES } from '../../shared/alerting/rule-states';
import { mapLimited } from '../../shared/platform/concurrency';
import { log } from '../../shared/platform/log';
import { SharedReads } from '../../shared/promql/shared-reads';
import type { SampleColumns } from '../../shared/promql/store';
import { encodeWriteRequest } from '../../shared/protocol/prometheus/remote-read';
import { limitsOf } from '../../shared/tenancy/limits';
import type { Tenant } from '../../shared/tenancy/tenants';
import { dependencies, ruleGroups, ruleStates, stage } from './stores';
import { budgetOf, MAX_POINTS, queryLimitsOf, samplesOf } from './tenant-samples';

/** An invocation begins no group and no slot later than this, ms. */
const BEGIN_MS = 15_000;
/** An invocation gives up its queries after this time, ms; the function's time-out is 29 s. */
const QUERY_MS = 24_000;
/** An answer that has more characters of base64 than this takes no further group. Lambda refuses answers over 6 MB. */
const MAX_ANSWER = 3_000_000;
/** Most samples of a remote-write body, unless one series has more; an import has the same bound. */
const MAX_BODY_SAMPLES = 30_000;
/** Notifications of a batch, which is one item of the outbox. Batches are larger if there would be over {@link MAX_BATCHES}. */
const MAX_BATCH = 200;

/** Most groups that are loaded at a time. */
const PARALLEL = 16;

type Request = EvaluationRequest['evaluateRules'];
type Place = Request['groups'][number];

/** Whether an event is the evaluator's; all others are requests of the API, which cannot look like it. */
export function isEvaluation(event: unknown): event is EvaluationRequest {
  return typeof event === 'object' && event !== null && 'evaluateRules' in event;
}

/** Evaluates the due slots of rule groups, as far as time and the size of an answer suffice. Writes nothing. */
export async function evaluateRules({
  evaluateRules: request,
}: EvaluationRequest): Promise<EvaluationAnswer> {
  const startedMs = performance.now();
  const elapsedMs = () => performance.now() - startedMs;
  const reads = new TenantReads(elapsedMs);
  const loaded = await mapLimited(request.groups, PARALLEL, (place) => load(place, request, reads));
  const answer: GroupEvaluation[] = [];
  let size = 0;
  for (const group of loaded) {
    if (elapsedMs() > BEGIN_MS || size > MAX_ANSWER) break;
    const { tenant, group: id } = group.place;
    const evaluation = await group.evaluate(elapsedMs).catch((error: unknown) => failed(group.place, error));
    answer.push({ tenant, group: id, ...evaluation });
    if ('samples' in evaluation)
      for (const { length } of [evaluation.state ?? '', ...evaluation.samples, ...evaluation.batches])
        size += length;
  }
  return answer;
}

/** The reads of each tenant, which its groups share. */
class TenantReads {
  private readonly byTenant = new Map<string, SharedReads>();

  constructor(private readonly elapsedMs: () => number) {}

  of(tenant: Tenant): SharedReads {
    let reads = this.byTenant.get(tenant.id);
    if (reads === undefined) {
      // Each read has a budget of its own.
      const leftMs = () => Math.max(0, QUERY_MS - this.elapsedMs());
      reads = new SharedReads(() => samplesOf(tenant, budgetOf(tenant, leftMs())));
      this.byTenant.set(tenant.id, reads);
    }
    return reads;
  }
}

interface LoadedGroup {
  readonly place: Place;
  readonly evaluate: (elapsedMs: () => number) => Promise<Outcome>;
}

function failed(place: Place, error: unknown): Outcome {
  log.error('a rule group was not evaluated', { ...place, error: error as Error });
  return { outcome: 'failed', reason: (error as Error).message };
}

/** Loads a group, and announces what it will read. */
async function load(place: Place, request: Request, reads: TenantReads): Promise<LoadedGroup> {
  const already = (outcome: Outcome) => ({ place, evaluate: async () => outcome });
  try {
    const tenant = await dependencies.tenants.get(place.tenant);
    if (tenant === undefined) return already({ outcome: 'gone' });
    const [stored, state] = await Promise.all([
      ruleGroups.get(tenant.id, place.group),
      ruleStates.get(tenant.id, place.group),
    ]);
    if (stored === undefined) {
      if (state === undefined) return already({ outcome: 'gone' });
      return { place, evaluate: () => remove(tenant, place.group, state, request.nowMs) };
    }
    const group = groupOf(stored.document);
    const plan = planGroup(group, state, request, stage.ruleQueryOffset);
    if (plan.slots.length === 0) return already({ outcome: 'idle' });
    const shared = reads.of(tenant);
    expectReads(shared, group, plan);
    const id = `${tenant.id} ${place.group}`;
    return {
      place,
      evaluate: (elapsedMs) => advance({ tenant, id, stored, group, state, plan, reads: shared }, elapsedMs),
    };
  } catch (error) {
    return already(failed(place, error));
  }
}

type Outcome<T = GroupEvaluation> = T extends unknown ? Omit<T, 'tenant' | 'group'> : never;

async function remove(tenant: Tenant, group: string, state: GroupState, nowMs: number): Promise<Outcome> {
  const { series, notifications } = await endGroup(state, `${tenant.id} ${group}`, nowMs);
  const about = { ...state, slotMs: nowMs, isLate: false };
  return {
    outcome: 'removed',
    ...written(state.slotMs, state.slotMs, undefined, series),
    batches: batchesOf(tenant, { namespace: '', document: { name: '', rules: [] } }, about, notifications),
    ...{ slots: 0, skipped: 0, rules: 0, failing: 0, hasMore: false },
  };
}

interface DueGroup {
  readonly tenant: Tenant;
  readonly id: string;
  readonly stored: StoredGroup;
  readonly group: RuleGroup;
  readonly state: GroupState | undefined;
  readonly plan: GroupPlan;
  readonly reads: SharedReads;
}

async function advance(
  { tenant, id, stored, group, state, plan, reads }: DueGroup,
  elapsedMs: () => number,
): Promise<Outcome> {
  const limits = queryLimitsOf(tenant);
  const options: AdvanceOptions = {
    id,
    reads,
    query: {
      limits: { maxSeries: limits.series, maxSamples: limits.samples, maxPoints: MAX_POINTS },
      isLate: () => elapsedMs() > QUERY_MS,
    },
    externalUrl: '',
    maxAlerts: limitsOf(stage, tenant.limits).alertsPerRule,
    hasTime: () => elapsedMs() < BEGIN_MS,
    clock: () => performance.now(),
    onFailure: (error) => log.error('samples of a rule were not read', { id, error: error as Error }),
  };
  const advanced = await advanceGroup(group, state, plan, options);
  const { slotMs, rules } = advanced.state;
  const encoded = encodeState(advanced.state);
  if (encoded === undefined)
    throw new Error('the alerts and series of its rules are more than an item of the table holds');
  return {
    outcome: 'evaluated',
    ...written(state?.slotMs, slotMs, encoded, advanced.series),
    batches: batchesOf(
      tenant,
      stored,
      { ...advanced.state, isLate: advanced.isLate },
      advanced.notifications,
    ),
    slots: advanced.slots,
    skipped: advanced.skipped,
    rules: stored.document.rules.length,
    failing: rules.filter(({ lastError }) => lastError !== undefined).length,
    hasMore: advanced.hasMore,
  };
}

function written(
  afterMs: number | undefined,
  slotMs: number,
  state: Uint8Array | undefined,
  series: readonly SampleColumns[],
): Pick<EvaluatedGroup, 'afterMs' | 'slotMs' | 'state' | 'samples'> {
  return {
    ...(afterMs !== undefined && { afterMs }),
    slotMs,
    ...(state !== undefined && { state: base64(state) }),
    samples: bodiesOf(series).map((body) => base64(zstdCompressSync(encodeWriteRequest(body)))),
  };
}

/** Splits series so that one request of remote write takes each part. */
function bodiesOf(series: readonly SampleColumns[]): SampleColumns[][] {
  const bodies: SampleColumns[][] = [];
  let samples = Infinity;
  for (const each of series) {
    samples += each.timestamps.length;
    if (samples > MAX_BODY_SAMPLES) {
      bodies.push([]);
      samples = each.timestamps.length;
    }
    bodies.at(-1)!.push(each);
  }
  return bodies;
}

function batchesOf(
  { name }: Tenant,
  { namespace, document }: StoredGroup,
  {
    slotMs,
    queryOffsetMs,
    isLate,
  }: Pick<GroupState, 'slotMs' | 'queryOffsetMs'> & { readonly isLate: boolean },
  notifications: readonly Notification[],
): string[] {
  const about = { tenant: name, namespace, group: document.name, slotMs, queryOffsetMs, isLate };
  const size = Math.max(MAX_BATCH, Math.ceil(notifications.length / MAX_BATCHES));
  return Array.from({ length: Math.ceil(notifications.length / size) }, (_, i) => {
    const part = notifications.slice(i * size, (i + 1) * size);
    const batch: NotificationBatch = { ...about, notifications: part };
    return base64(encodeJson(batch));
  });
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
}
