import { slicesOf } from '../model/slices';
import { mapLimited } from '../platform/concurrency';
import { log } from '../platform/log';
import type { RuntimeSettings } from '../platform/settings';
import { limitsOf } from '../tenancy/limits';
import type { Tenant, Tenants } from '../tenancy/tenants';
import { type AdvanceOptions, advanceGroup, endGroup, expectReads, planGroup } from './advance-group';
import type { EvaluationAnswer, EvaluationRequest, GroupRef, Outcome } from './evaluation';
import { batchSize } from './evaluator-store';
import type { GroupState, GroupStates } from './group-state';
import { encoded, type FoundGroup, Invocation, perTenant, type SampleInputs } from './invocation';
import { isChange, type Notification, type NotificationBatch, type Telling } from './notification';
import { channelsOf, type ReceiverStore } from './receivers';
import { groupOf } from './rule-document';
import type { RuleGroups, StoredGroup } from './rule-groups';
import type { SilenceStore } from './silence-store';
import { silenceTest } from './silences';

/** Number of groups loaded in parallel. */
const PARALLEL = 16;

/** Stores that an evaluation of rules reads. */
export interface RuleInputs extends SampleInputs {
  readonly tenants: Pick<Tenants, 'get'>;
  readonly groups: Pick<RuleGroups, 'get'>;
  readonly states: Pick<GroupStates<GroupState>, 'get'>;
  readonly silences: Pick<SilenceStore, 'list'>;
  readonly receivers: Pick<ReceiverStore, 'get'>;
  readonly stage: RuntimeSettings;
}

/** Evaluates the due ticks of rule groups. All groups are loaded first, so that a tenant's groups share reads. */
export async function evaluateRules(
  inputs: RuleInputs,
  request: EvaluationRequest,
): Promise<EvaluationAnswer> {
  const invocation = new Invocation(inputs);
  const tellingOf = perTenant((tenant) => readTelling(inputs, tenant, request.nowMs));
  const loaded = new Map<GroupRef, FoundGroup>();
  await mapLimited(request.groups, PARALLEL, async (ref) => {
    const found = load(inputs, invocation, tellingOf, ref, request);
    loaded.set(ref, await found.catch((error: unknown) => ({ evaluate: () => Promise.reject(error) })));
  });
  return invocation.evaluate(request.groups, async (ref) => loaded.get(ref)!);
}

async function readTelling(
  { silences, receivers }: RuleInputs,
  { id }: Tenant,
  nowMs: number,
): Promise<Telling> {
  const [stored, found] = await Promise.all([silences.list(id), receivers.get(id)]);
  const silencedBy = silenceTest(stored, nowMs);
  return {
    isSilenced: (labels) => silencedBy(labels).length > 0,
    repeatsMs: [...new Set(channelsOf(found).map(({ repeatMs }) => repeatMs))],
  };
}

/** Loads a group and announces what it will read. */
async function load(
  inputs: RuleInputs,
  invocation: Invocation,
  tellingOf: (tenant: Tenant) => Promise<Telling>,
  ref: GroupRef,
  request: EvaluationRequest,
): Promise<FoundGroup> {
  const { stage } = inputs;
  const tenant = await inputs.tenants.get(ref.tenant);
  if (tenant === undefined) return { evaluate: async () => ({ outcome: 'gone' }) };
  const [stored, state] = await Promise.all([
    inputs.groups.get(tenant.id, ref.group),
    inputs.states.get(tenant.id, ref.group),
  ]);
  const id = `${tenant.id} ${ref.group}`;
  if (stored === undefined)
    return {
      evaluate: async () =>
        state === undefined ? { outcome: 'gone' } : ended(tenant, id, state, request.nowMs),
    };
  const group = groupOf(stored.document);
  const plan = planGroup(group, state, request, stage.ruleQueryOffset);
  if (plan.ticks.length === 0) return { evaluate: async () => ({ outcome: 'idle' }) };
  const reads = invocation.readsOf(tenant);
  expectReads(reads, group, plan);
  const options: AdvanceOptions = {
    ...{ id, reads, query: invocation.queryOf(tenant), hasTime: invocation.hasTime },
    maxAlerts: limitsOf(stage, tenant.limits).alertsPerRule,
    telling: () => tellingOf(tenant),
    clock: () => performance.now(),
    onFailure: (error) => log.error('samples of a rule were not read', { id, error: error as Error }),
  };
  const evaluate = async () => {
    const advanced = await advanceGroup(group, state, plan, options);
    const { ticks, skipped, hasMore, series, isLate } = advanced;
    const { rules, tickMs } = advanced.state;
    return encoded({
      ...{ afterMs: state?.tickMs, tickMs, state: advanced.state, series, ticks, skipped, hasMore },
      batches: batchesOf(tenant, stored, { ...advanced.state, isLate }, advanced.notifications),
      failing: rules.filter(({ lastError }) => lastError !== undefined).length,
    });
  };
  return { tenant, evaluate };
}

/** Ends a group that was removed. */
function ended(tenant: Tenant, id: string, state: GroupState, nowMs: number): Outcome {
  const { series, notifications } = endGroup(state, id, nowMs);
  const about = { ...state, tickMs: nowMs, isLate: false };
  return encoded({
    ...{ afterMs: state.tickMs, tickMs: state.tickMs, state: undefined, series },
    batches: batchesOf(tenant, { namespace: '', document: { name: '', rules: [] } }, about, notifications),
    ...{ ticks: 0, skipped: 0, failing: 0, hasMore: false },
  });
}

function batchesOf(
  { name }: Tenant,
  { namespace, document }: StoredGroup,
  { tickMs, queryOffsetMs, isLate }: Pick<NotificationBatch, 'tickMs' | 'queryOffsetMs' | 'isLate'>,
  notifications: readonly Notification[],
): NotificationBatch[] {
  const about = { tenant: name, namespace, group: document.name, tickMs, queryOffsetMs, isLate };
  // Changes and repeated notifications go into separate batches, so the last batch of each kind may be only partly
  // filled.
  const size = batchSize(notifications.length, 2);
  return [notifications.filter(isChange), notifications.filter((each) => !isChange(each))].flatMap((all) =>
    slicesOf(all, size).map((slice) => ({ ...about, notifications: slice })),
  );
}
