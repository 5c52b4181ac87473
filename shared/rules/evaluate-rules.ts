import { changeReceiversOf, type ReceiverStore } from '../alerting/delivery/receivers';
import type { SilenceStore } from '../alerting/delivery/silence-store';
import { silenceTest } from '../alerting/delivery/silences';
import {
  encodeOutcome,
  encodeRemoval,
  type FoundTask,
  Invocation,
  perTenant,
  type SampleInputs,
} from '../alerting/invocation';
import type { EvaluationRequest, EvaluationResponse, Outcome, TaskRef } from '../alerting/tasks/evaluation';
import { notificationsPerBatch } from '../alerting/tasks/evaluator-store';
import { isChange, type Notification, type NotificationBatch } from '../alerting/tasks/notification';
import type { TaskStates } from '../alerting/tasks/task-states';
import { slicesOf } from '../model/slices';
import { mapLimited } from '../platform/concurrency';
import { log } from '../platform/log';
import type { RuntimeSettings } from '../platform/settings';
import { limitsOf } from '../tenancy/limits';
import type { Tenant, Tenants } from '../tenancy/tenants';
import {
  type AdvanceOptions,
  advanceRuleGroup,
  endRuleGroup,
  expectReads,
  planRuleGroup,
} from './advance-rule-group';
import { ruleGroupOf } from './rule-document';
import type { RuleGroupState } from './rule-group-state';
import type { RuleGroups, StoredRuleGroup } from './rule-groups';
import type { NotificationPolicy } from './transitions';

/** Number of rule groups loaded in parallel. */
const PARALLEL = 16;

/** Stores that an evaluation of rules reads. */
export interface RuleInputs extends SampleInputs {
  readonly tenants: Pick<Tenants, 'get'>;
  readonly ruleGroups: Pick<RuleGroups, 'get'>;
  readonly states: Pick<TaskStates<RuleGroupState>, 'get'>;
  readonly silences: Pick<SilenceStore, 'list'>;
  readonly receivers: Pick<ReceiverStore, 'get'>;
  readonly stage: RuntimeSettings;
}

/** Evaluates the due ticks of rule groups. Loads all rule groups first, so that a tenant's rule groups share reads. */
export async function evaluateRules(
  inputs: RuleInputs,
  request: EvaluationRequest,
): Promise<EvaluationResponse> {
  const invocation = new Invocation(inputs);
  const policyOf = perTenant((tenant) => readPolicy(inputs, tenant, request.nowMs));
  const loaded = new Map<TaskRef, FoundTask>();
  await mapLimited(request.tasks, PARALLEL, async (ref) => {
    const found = load(inputs, invocation, policyOf, ref, request);
    loaded.set(ref, await found.catch((error: unknown) => ({ evaluate: () => Promise.reject(error) })));
  });
  return invocation.evaluate(request.tasks, async (ref) => loaded.get(ref)!);
}

async function readPolicy(
  { silences, receivers }: RuleInputs,
  { id }: Tenant,
  nowMs: number,
): Promise<NotificationPolicy> {
  const [stored, found] = await Promise.all([silences.list(id), receivers.get(id)]);
  const silencedBy = silenceTest(stored, nowMs);
  return {
    isSilenced: (labels) => silencedBy(labels).length > 0,
    repeatsMs: [...new Set(changeReceiversOf(found).map(({ repeatMs }) => repeatMs))],
  };
}

/** Loads a rule group, and announces to the shared reads what its evaluation will read. */
async function load(
  inputs: RuleInputs,
  invocation: Invocation,
  policyOf: (tenant: Tenant) => Promise<NotificationPolicy>,
  ref: TaskRef,
  request: EvaluationRequest,
): Promise<FoundTask> {
  const { stage } = inputs;
  const tenant = await inputs.tenants.get(ref.tenant);
  if (tenant === undefined) return { evaluate: async () => ({ outcome: 'gone' }) };
  const [stored, state] = await Promise.all([
    inputs.ruleGroups.get(tenant.id, ref.task),
    inputs.states.get(tenant.id, ref.task),
  ]);
  const id = `${tenant.id} ${ref.task}`;
  if (stored === undefined)
    return {
      evaluate: async () =>
        state === undefined ? { outcome: 'gone' } : endRemoved(tenant, id, state, request.nowMs),
    };
  const ruleGroup = ruleGroupOf(stored.document);
  const plan = planRuleGroup(ruleGroup, state, request, stage.ruleQueryOffset);
  if (plan.ticks.length === 0) return { evaluate: async () => ({ outcome: 'idle' }) };
  const reads = invocation.readsOf(tenant);
  expectReads(reads, ruleGroup, plan);
  const options: AdvanceOptions = {
    id,
    reads,
    query: invocation.queryOf(tenant),
    hasTime: invocation.hasTime,
    maxAlerts: limitsOf(stage, tenant.limits).alertsPerRule,
    policy: () => policyOf(tenant),
    clock: () => performance.now(),
    onFailure: (error) => log.error('samples of a rule were not read', { id, error }),
  };
  const evaluate = async () => {
    const advanced = await advanceRuleGroup(ruleGroup, state, plan, options);
    const { ticks, skipped, hasMore, series, isLate } = advanced;
    const { rules, tickMs } = advanced.state;
    return encodeOutcome({
      afterMs: state?.tickMs,
      tickMs,
      state: advanced.state,
      series,
      ticks,
      skipped,
      hasMore,
      batches: batchesOf(tenant, stored, { ...advanced.state, isLate }, advanced.notifications),
      failing: rules.filter(({ lastError }) => lastError !== undefined).length,
    });
  };
  return { tenant, evaluate };
}

/** Ends a rule group that was removed. */
function endRemoved(tenant: Tenant, id: string, state: RuleGroupState, nowMs: number): Outcome {
  const { series, notifications } = endRuleGroup(state, id, nowMs);
  const about = { ...state, tickMs: nowMs, isLate: false };
  const batches = batchesOf(
    tenant,
    { namespace: '', document: { name: '', rules: [] } },
    about,
    notifications,
  );
  return encodeRemoval(state.tickMs, { series, batches });
}

function batchesOf(
  { name }: Tenant,
  { namespace, document }: StoredRuleGroup,
  { tickMs, queryOffsetMs, isLate }: Pick<NotificationBatch, 'tickMs' | 'queryOffsetMs' | 'isLate'>,
  notifications: readonly Notification[],
): NotificationBatch[] {
  const about = { tenant: name, namespace, group: document.name, tickMs, queryOffsetMs, isLate };
  // Changes and repeated notifications go into separate batches.
  const kinds = [notifications.filter(isChange), notifications.filter((each) => !isChange(each))];
  const size = notificationsPerBatch(notifications.length, kinds.length);
  return kinds.flatMap((all) => slicesOf(all, size).map((slice) => ({ ...about, notifications: slice })));
}
