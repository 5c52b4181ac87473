import { zstdCompressSync } from 'node:zlib';
import type { Id } from '../model/id';
import type { SampleColumns } from '../model/sample-columns';
import { mapLimited } from '../platform/concurrency';
import { log } from '../platform/log';
import type { QueryOptions } from '../promql/query';
import { SharedReads } from '../promql/shared-reads';
import type { SampleStore } from '../promql/store';
import type { Tenant } from '../tenancy/tenants';
import { bodiesOf } from './result-bodies';
import type { EvaluatedTask, EvaluationResponse, Outcome, TaskEvaluation, TaskRef } from './tasks/evaluation';
import type { EventBatch, NotificationBatch } from './tasks/notification';
import { encodeJson } from './tasks/task-states';

/** Time after which no task or tick is started, in ms. */
const BEGIN_MS = 15_000;
/** Time after which queries are aborted, in ms. The function's timeout is 29 s. */
const QUERY_MS = 24_000;
/**
 * Length of a response, in base64 characters, above which no more tasks are evaluated. Lambda refuses responses over
 * 6 MB.
 */
const FULL_RESPONSE = 3_000_000;
/**
 * Maximum length of a response, in base64 characters. A result that would make the response longer is left out, unless it
 * is the first. The evaluator then asks for that task again. {@link FULL_RESPONSE} alone is not enough, because tasks that
 * have already started in parallel may each add a large result.
 */
const MAX_RESPONSE = 5_500_000;
/** Number of tasks evaluated in parallel, so that one task's samples are read while another task is evaluated. */
const PARALLEL = 4;
/** Maximum size of a task's compressed state, in bytes. A DynamoDB item holds at most 400 KB. */
const MAX_STATE_BYTES = 380_000;

/** Dependencies for reading tenants' samples during an evaluation, and for charging the tenants for its time. */
export interface SampleInputs {
  /** Returns a tenant's queries: `TenantQueries` in query/tenant-queries.ts. */
  readonly queriesOf: (tenant: Tenant) => {
    begin(timeMs: number): { readonly store: SampleStore; readonly options: QueryOptions };
  };
  /** Charges the time that a tenant's rules or monitors took, in ms, to the tenant as query time. Never fails. */
  readonly charge: (tenant: Tenant, tookMs: number) => Promise<void>;
}

/** A task, loaded and ready to be evaluated. */
export interface FoundTask {
  /** Tenant that is charged for the evaluation. @default no tenant is charged */
  readonly tenant?: Tenant;
  readonly evaluate: () => Promise<Outcome>;
}

/** One invocation of the query function that evaluates rule groups or monitors. The constructor starts its clock. */
export class Invocation {
  private readonly startedMs = performance.now();
  /** Shared reads, keyed by the tenant's name. */
  private readonly reads = new Map<string, SharedReads>();

  private readonly queriesOf = perTenant((tenant) => this.inputs.queriesOf(tenant));

  constructor(private readonly inputs: SampleInputs) {}

  private elapsedMs(): number {
    return performance.now() - this.startedMs;
  }

  readonly hasTime = () => this.elapsedMs() < BEGIN_MS;

  /** Returns the store through which a tenant's tasks share reads. Its samples are freed after the last task. */
  readsOf(tenant: Tenant): SharedReads {
    let reads = this.reads.get(tenant.name);
    if (reads === undefined) {
      // Each read gets the time that is left when it starts.
      reads = new SharedReads(() => this.begin(tenant).store);
      this.reads.set(tenant.name, reads);
    }
    return reads;
  }

  queryOf(tenant: Tenant): QueryOptions {
    return this.begin(tenant).options;
  }

  private begin(tenant: Tenant) {
    return this.queriesOf(tenant).begin(Math.max(0, QUERY_MS - this.elapsedMs()));
  }

  /**
   * Evaluates tasks until time is up or the response is full. AWS bills the invocation as a whole, so its
   * time is divided among the tenants in proportion to the time that their tasks took.
   */
  async evaluate(
    tasks: readonly TaskRef[],
    find: (ref: TaskRef) => Promise<FoundTask>,
  ): Promise<EvaluationResponse> {
    const evaluations: TaskEvaluation[] = [];
    const took = new Map<Id, { readonly tenant: Tenant; readonly ms: number }>();
    const left = new Map(
      Array.from(
        Map.groupBy(tasks, ({ tenant }) => tenant),
        ([name, of]) => [name, of.length],
      ),
    );
    let size = 0;
    await mapLimited(tasks, PARALLEL, async (ref) => {
      if (!this.hasTime() || size > FULL_RESPONSE) return;
      const beganMs = this.elapsedMs();
      let tenant: Tenant | undefined;
      let result: Outcome;
      try {
        const found = await find(ref);
        tenant = found.tenant;
        result = await found.evaluate();
      } catch (error) {
        result = failedOutcome(ref, error);
      }
      left.set(ref.tenant, left.get(ref.tenant)! - 1);
      if (left.get(ref.tenant) === 0) this.reads.get(ref.tenant)?.clear();
      const length = result.outcome === 'evaluated' ? sizeOf(result) : 0;
      if (size === 0 || size + length <= MAX_RESPONSE) {
        evaluations.push({ ...ref, ...result });
        size += length;
      }
      if (tenant === undefined) return;
      const ms = (took.get(tenant.id)?.ms ?? 0) + this.elapsedMs() - beganMs;
      took.set(tenant.id, { tenant, ms });
    });
    const shares = [...took.values()];
    const sumMs = shares.reduce((sum, { ms }) => sum + ms, 0);
    const billedMs = this.elapsedMs();
    if (sumMs > 0)
      await Promise.all(shares.map(({ tenant, ms }) => this.inputs.charge(tenant, (billedMs * ms) / sumMs)));
    return evaluations;
  }
}

function sizeOf({ state = '', samples, batches }: EvaluatedTask): number {
  return [state, ...samples, ...batches].reduce((sum, { length }) => sum + length, 0);
}

/** Logs why a task could not be evaluated. */
export function failedOutcome(ref: TaskRef, error: unknown): Outcome {
  log.error('a rule group or monitor could not be evaluated', { ...ref, error });
  return { outcome: 'failed', reason: (error as Error).message };
}

/** Calls `make` once for each tenant, so that the tenant's tasks share the result. */
export function perTenant<T>(make: (tenant: Tenant) => T): (tenant: Tenant) => T {
  const made = new Map<Id, T>();
  return (tenant) => {
    const found = made.get(tenant.id) ?? make(tenant);
    made.set(tenant.id, found);
    return found;
  };
}

/** Result of an evaluation, before it is encoded for the response. */
export interface TaskResult extends Omit<EvaluatedTask, 'afterMs' | 'state' | 'samples' | 'batches'> {
  readonly afterMs: number | undefined;
  /** Undefined for a removed task. */
  readonly state: object | undefined;
  readonly series: readonly SampleColumns[];
  readonly batches: readonly (NotificationBatch | EventBatch)[];
}

/**
 * Encodes the result of a task.
 *
 * @throws {Error} when the state is too large for a table item
 */
export function encodeOutcome({ afterMs, state, series, batches, ...counts }: TaskResult): Outcome {
  const bytes = state && encodeJson(state);
  if (bytes !== undefined && bytes.length > MAX_STATE_BYTES)
    throw new Error(
      `the state with the group's alerts has ${bytes.length} bytes, more than the ${MAX_STATE_BYTES} that are stored`,
    );
  return {
    outcome: 'evaluated',
    ...(afterMs !== undefined && { afterMs }),
    ...(bytes !== undefined && { state: base64(bytes) }),
    samples: bodiesOf(series).map((body) => base64(zstdCompressSync(body))),
    batches: batches.map((batch) => base64(encodeJson(batch))),
    ...counts,
  };
}

/**
 * Encodes the result of ending a removed task. Its state is removed, and nothing was evaluated.
 *
 * @param tickMs the tick of the state
 */
export function encodeRemoval(tickMs: number, last: Pick<TaskResult, 'series' | 'batches'>): Outcome {
  const counts = { ticks: 0, skipped: 0, failing: 0, hasMore: false };
  return encodeOutcome({ afterMs: tickMs, tickMs, state: undefined, ...last, ...counts });
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
}
