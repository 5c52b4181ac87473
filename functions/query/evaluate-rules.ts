import { zstdCompressSync } from 'node:zlib';
import { type AdvanceOptions, advanceGroup, endGroup } from '../../shared/alerting/advance-group';
import type {
  EvaluatedGroup,
  EvaluationAnswer,
  EvaluationRequest,
  GroupEvaluation,
} from '../../shared/alerting/evaluation';
import { encodeJson, encodeState, type GroupState } from '../../shared/alerting/group-state';
import type { Notification, NotificationBatch } from '../../shared/alerting/notification';
import { groupOf } from '../../shared/alerting/rule-document';
import type { StoredGroup } from '../../shared/alerting/rule-groups';
import { MAX_BATCHES } from '../../shared/alerting/rule-states';
import { log } from '../../shared/platform/log';
import type { SampleColumns } from '../../shared/promql/store';
import { encodeWriteRequest } from '../../shared/protocol/prometheus/remote-read';
import { limitsOf } from '../../shared/tenancy/limits';
import type { Tenant } from '../../shared/tenancy/tenants';
import { dependencies, ruleGroups, ruleStates, stage } from './stores';
import { budgetOf, MAX_POINTS, queryLimitsOf, samplesOf } from './tenant-samples';

/** Time of an invocation in which groups and slots are begun, ms. */
const BEGIN_MS = 15_000;
/** Time after which queries that run are given up, ms: the function's time-out is 29 s. */
const QUERY_MS = 24_000;
/** Base64 of an answer; Lambda's have 6 MB at most. */
const MAX_ANSWER = 3_000_000;
/** Samples of a body of remote write, as many as of an import. */
const MAX_BODY_SAMPLES = 30_000;
/** Notifications of a batch, an item of the outbox; more if there would be too many batches. */
const MAX_BATCH = 200;

type Request = EvaluationRequest['evaluateRules'];

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
  const answer: GroupEvaluation[] = [];
  let size = 0;
  for (const { tenant: name, group } of request.groups) {
    if (elapsedMs() > BEGIN_MS || size > MAX_ANSWER) break;
    const place = { tenant: name, group };
    try {
      const tenant = await dependencies.tenants.get(name);
      const evaluation = {
        ...place,
        ...(tenant === undefined
          ? ({ outcome: 'gone' } as const)
          : await evaluate(tenant, group, request, elapsedMs)),
      };
      answer.push(evaluation);
      if ('samples' in evaluation)
        for (const { length } of [evaluation.state ?? '', ...evaluation.samples, ...evaluation.batches])
          size += length;
    } catch (error) {
      log.error('a rule group was not evaluated', { ...place, error: error as Error });
      answer.push({ ...place, outcome: 'failed', reason: (error as Error).message });
    }
  }
  return answer;
}

type Outcome<T = GroupEvaluation> = T extends unknown ? Omit<T, 'tenant' | 'group'> : never;

async function evaluate(
  tenant: Tenant,
  group: string,
  { nowMs, lagMs }: Request,
  elapsedMs: () => number,
): Promise<Outcome> {
  const [stored, state] = await Promise.all([
    ruleGroups.get(tenant.id, group),
    ruleStates.get(tenant.id, group),
  ]);
  const id = `${tenant.id} ${group}`;
  if (stored === undefined) {
    if (state === undefined) return { outcome: 'gone' };
    const { series, notifications } = await endGroup(state, id, nowMs);
    const about = { ...state, slotMs: nowMs, isLate: false };
    return {
      outcome: 'removed',
      ...written(state.slotMs, state.slotMs, undefined, series),
      batches: batchesOf(tenant, { namespace: '', document: { name: '', rules: [] } }, about, notifications),
      ...{ slots: 0, skipped: 0, rules: 0, failing: 0, hasMore: false },
    };
  }
  const { alertsPerRule } = limitsOf(stage, tenant.limits);
  const limits = queryLimitsOf(tenant);
  const options: AdvanceOptions = {
    id,
    store: () => samplesOf(tenant, budgetOf(tenant, Math.max(0, QUERY_MS - elapsedMs()))),
    query: {
      limits: { maxSeries: limits.series, maxSamples: limits.samples, maxPoints: MAX_POINTS },
      isLate: () => elapsedMs() > QUERY_MS,
    },
    externalUrl: '',
    maxAlerts: alertsPerRule,
    defaultOffsetMs: stage.ruleQueryOffset,
    hasTime: () => elapsedMs() < BEGIN_MS,
    clock: () => performance.now(),
    onFailure: (error) => log.error('a rule was not evaluated', { ...stored, error: error as Error }),
  };
  const advanced = await advanceGroup(groupOf(stored.document), state, { nowMs, lagMs }, options);
  if (advanced === undefined) return { outcome: 'idle' };
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
