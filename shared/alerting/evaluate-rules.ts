import { zstdCompressSync } from 'node:zlib';
import type { Id } from '../model/id';
import { slicesOf } from '../model/slices';
import { mapLimited } from '../platform/concurrency';
import { log } from '../platform/log';
import type { RuntimeSettings } from '../platform/settings';
import { SharedReads } from '../promql/shared-reads';
import type { SampleColumns } from '../promql/store';
import { limitsOf } from '../tenancy/limits';
import type { Tenant, Tenants } from '../tenancy/tenants';
import {
  type AdvanceOptions,
  advanceGroup,
  endGroup,
  expectReads,
  type GroupPlan,
  planGroup,
} from './advance-group';
import { channelsOf } from './channels';
import {
  base64,
  type EvaluatedGroup,
  type EvaluationAnswer,
  type EvaluationRequest,
  failed,
  type GroupEvaluation,
  INVOCATION,
  type Outcome,
  type SampleInputs,
} from './evaluation';
import { batchSize } from './evaluator-store';
import { encodeJson, encodeState, type GroupState } from './group-state';
import type { GroupStates } from './group-states';
import { isChange, type Notification, type NotificationBatch, type Telling } from './notification';
import type { ReceiverStore } from './receivers';
import { bodiesOf } from './result-bodies';
import { groupOf } from './rule-document';
import type { RuleGroup } from './rule-file';
import type { RuleGroups, StoredGroup } from './rule-groups';
import type { SilenceStore } from './silence-store';
import { silenceTest } from './silences';

/** Groups loaded in parallel. */
const PARALLEL = 16;
/** Tenants evaluated in parallel. */
const PARALLEL_TENANTS = 4;

type Request = EvaluationRequest['evaluate'];
type GroupRef = Request['groups'][number];

/** Returns whether an event is the evaluator's. All others are API requests, which cannot have its form. */
export function isEvaluation(event: unknown): event is EvaluationRequest {
  return typeof event === 'object' && event !== null && 'evaluate' in event;
}

/** Stores that an evaluation of rules reads. */
export interface RuleInputs extends SampleInputs {
  readonly tenants: Pick<Tenants, 'get'>;
  readonly groups: Pick<RuleGroups, 'get'>;
  readonly states: Pick<GroupStates<GroupState>, 'get'>;
  readonly silences: Pick<SilenceStore, 'list'>;
  readonly receivers: Pick<ReceiverStore, 'get'>;
  readonly stage: RuntimeSettings;
}

/** Evaluates the due ticks of rule groups until time is up or the answer is full. */
export async function evaluateRules(
  inputs: RuleInputs,
  { evaluate: request }: EvaluationRequest,
): Promise<EvaluationAnswer> {
  const startedMs = performance.now();
  const elapsedMs = () => performance.now() - startedMs;
  const reads = new TenantReads(inputs, elapsedMs, request.nowMs);
  const loaded = await mapLimited(request.groups, PARALLEL, (ref) => load(inputs, ref, request, reads));
  const answer: GroupEvaluation[] = [];
  let size = 0;
  const byTenant = Map.groupBy(loaded, ({ ref }) => ref.tenant);
  // The samples of one tenant are read while the rules of another are evaluated.
  await mapLimited([...byTenant.values()], PARALLEL_TENANTS, async (groups) => {
    const beganMs = elapsedMs();
    for (const { ref, evaluate } of groups) {
      if (elapsedMs() > INVOCATION.beginMs || size > INVOCATION.maxAnswer) break;
      const evaluation = await evaluate(elapsedMs).catch((error: unknown) => failedGroup(ref, error));
      answer.push({ ...ref, ...evaluation });
      if ('samples' in evaluation)
        for (const { length } of [evaluation.state ?? '', ...evaluation.samples, ...evaluation.batches])
          size += length;
    }
    reads.release(groups[0]!.ref.tenant);
    const tenant = groups.find((each) => each.tenant !== undefined)?.tenant;
    if (tenant !== undefined) await inputs.charge(tenant, elapsedMs() - beganMs);
  });
  return answer;
}

/** Reads and notification settings that a tenant's groups share. */
class TenantReads {
  /** Shared reads by the tenant's name. */
  private readonly byTenant = new Map<string, SharedReads>();
  private readonly tellingByTenant = new Map<Id, Promise<Telling>>();

  constructor(
    private readonly inputs: RuleInputs,
    private readonly elapsedMs: () => number,
    private readonly nowMs: number,
  ) {}

  telling({ id }: Tenant): Promise<Telling> {
    const known = this.tellingByTenant.get(id);
    if (known !== undefined) return known;
    const telling = this.readTelling(id);
    this.tellingByTenant.set(id, telling);
    return telling;
  }

  private async readTelling(tenantId: Id): Promise<Telling> {
    const { silences, receivers } = this.inputs;
    const [stored, found] = await Promise.all([silences.list(tenantId), receivers.get(tenantId)]);
    const silencedBy = silenceTest(stored, this.nowMs);
    return {
      isSilenced: (labels) => silencedBy(labels).length > 0,
      repeatsMs: [...new Set(channelsOf(found).map(({ repeatMs }) => repeatMs))],
    };
  }

  of(tenant: Tenant): SharedReads {
    let reads = this.byTenant.get(tenant.name);
    if (reads === undefined) {
      const samples = this.inputs.samplesOf(tenant);
      // Each read has its own time budget.
      reads = new SharedReads(() => samples(Math.max(0, INVOCATION.queryMs - this.elapsedMs())));
      this.byTenant.set(tenant.name, reads);
    }
    return reads;
  }

  /** Frees the samples of a tenant whose groups are done. */
  release(tenant: string): void {
    this.byTenant.delete(tenant);
  }
}

interface LoadedGroup {
  readonly ref: GroupRef;
  /** Absent if nothing is to be read for the group. */
  readonly tenant?: Tenant;
  readonly evaluate: (elapsedMs: () => number) => Promise<Outcome>;
}

function failedGroup(ref: GroupRef, error: unknown): Outcome {
  return failed('a rule group could not be evaluated', ref, error);
}

/** Loads a group and notes what it will read. */
async function load(
  inputs: RuleInputs,
  ref: GroupRef,
  request: Request,
  reads: TenantReads,
): Promise<LoadedGroup> {
  const already = (outcome: Outcome) => ({ ref, evaluate: async () => outcome });
  try {
    const tenant = await inputs.tenants.get(ref.tenant);
    if (tenant === undefined) return already({ outcome: 'gone' });
    const [stored, state] = await Promise.all([
      inputs.groups.get(tenant.id, ref.group),
      inputs.states.get(tenant.id, ref.group),
    ]);
    if (stored === undefined) {
      if (state === undefined) return already({ outcome: 'gone' });
      return { ref, evaluate: () => remove(tenant, ref.group, state, request.nowMs) };
    }
    const group = groupOf(stored.document);
    const plan = planGroup(group, state, request, inputs.stage.ruleQueryOffset);
    if (plan.ticks.length === 0) return already({ outcome: 'idle' });
    expectReads(reads.of(tenant), group, plan);
    const id = `${tenant.id} ${ref.group}`;
    return {
      ...{ ref, tenant },
      evaluate: (elapsedMs) => advance(inputs, { tenant, id, stored, group, state, plan, reads }, elapsedMs),
    };
  } catch (error) {
    return already(failedGroup(ref, error));
  }
}

async function remove(tenant: Tenant, group: string, state: GroupState, nowMs: number): Promise<Outcome> {
  const { series, notifications } = endGroup(state, `${tenant.id} ${group}`, nowMs);
  const about = { ...state, tickMs: nowMs, isLate: false };
  return {
    outcome: 'removed',
    ...written(state.tickMs, state.tickMs, undefined, series),
    batches: batchesOf(tenant, { namespace: '', document: { name: '', rules: [] } }, about, notifications),
    ...{ ticks: 0, skipped: 0, failing: 0, hasMore: false },
  };
}

interface DueGroup {
  readonly tenant: Tenant;
  readonly id: string;
  readonly stored: StoredGroup;
  readonly group: RuleGroup;
  readonly state: GroupState | undefined;
  readonly plan: GroupPlan;
  readonly reads: TenantReads;
}

async function advance(
  inputs: RuleInputs,
  { tenant, id, stored, group, state, plan, reads }: DueGroup,
  elapsedMs: () => number,
): Promise<Outcome> {
  const options: AdvanceOptions = {
    id,
    reads: reads.of(tenant),
    query: {
      limits: inputs.queryLimitsOf(tenant),
      isLate: () => elapsedMs() > INVOCATION.queryMs,
    },
    maxAlerts: limitsOf(inputs.stage, tenant.limits).alertsPerRule,
    telling: () => reads.telling(tenant),
    hasTime: () => elapsedMs() < INVOCATION.beginMs,
    clock: () => performance.now(),
    onFailure: (error) => log.error('samples of a rule were not read', { id, error: error as Error }),
  };
  const advanced = await advanceGroup(group, state, plan, options);
  const { tickMs, rules } = advanced.state;
  const encoded = encodeState(advanced.state);
  if (encoded === undefined)
    throw new Error('the alerts and series of its rules are more than an item of the table holds');
  return {
    outcome: 'evaluated',
    ...written(state?.tickMs, tickMs, encoded, advanced.series),
    batches: batchesOf(
      tenant,
      stored,
      { ...advanced.state, isLate: advanced.isLate },
      advanced.notifications,
    ),
    ticks: advanced.ticks,
    skipped: advanced.skipped,
    failing: rules.filter(({ lastError }) => lastError !== undefined).length,
    hasMore: advanced.hasMore,
  };
}

function written(
  afterMs: number | undefined,
  tickMs: number,
  state: Uint8Array | undefined,
  series: readonly SampleColumns[],
): Pick<EvaluatedGroup, 'afterMs' | 'tickMs' | 'state' | 'samples'> {
  return {
    ...(afterMs !== undefined && { afterMs }),
    tickMs,
    ...(state !== undefined && { state: base64(state) }),
    samples: bodiesOf(series).map((body) => base64(zstdCompressSync(body))),
  };
}

function batchesOf(
  { name }: Tenant,
  { namespace, document }: StoredGroup,
  {
    tickMs,
    queryOffsetMs,
    isLate,
  }: Pick<GroupState, 'tickMs' | 'queryOffsetMs'> & { readonly isLate: boolean },
  notifications: readonly Notification[],
): string[] {
  const about = { tenant: name, namespace, group: document.name, tickMs, queryOffsetMs, isLate };
  // Changes and repeats go into separate batches, so one batch of each kind may be partly filled.
  const size = batchSize(notifications.length, 2);
  return [notifications.filter(isChange), notifications.filter((each) => !isChange(each))].flatMap((all) =>
    slicesOf(all, size).map((slice) => {
      const batch: NotificationBatch = { ...about, notifications: slice };
      return base64(encodeJson(batch));
    }),
  );
}
