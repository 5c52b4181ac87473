import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { LimitName } from '../tenancy/limits';
import type { QueryBudgets } from '../tenancy/query-budgets';
import { SampleCharge } from '../tenancy/sample-charge';
import type { BudgetName, TenantMeter } from '../tenancy/tenant-meter';
import type { Tenant } from '../tenancy/tenants';
import { HttpError } from './http';
import type { Route } from './routes';

const MEMORY_MB = Number(process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE ?? 0);

/**
 * Runs a request if the tenant's limits admit it, and counts its usage. A request over a limit is refused before its
 * body is parsed, so a refusal costs almost nothing.
 *
 * @param work receives the object by which a post of samples reports its size; undefined for other requests
 * @throws {HttpError} 413 or 429, naming the limit
 * @throws whatever `work` throws
 */
export async function meterRequest<T>(
  meter: TenantMeter,
  tenant: Tenant,
  { budgets = [], readsSamples }: Pick<Route, 'budgets' | 'readsSamples'>,
  event: APIGatewayProxyEventV2,
  work: (charge: SampleCharge | undefined) => Promise<T>,
): Promise<T> {
  const startedMs = performance.now();
  const bodyBytes = bytesOf(event);
  try {
    admit(meter, tenant, budgets, bodyBytes);
    if (budgets.includes('servicePostsPerMinute')) meter.count(tenant, { servicePosts: 1 });
    const charge = budgets.includes('samplesPerMinute') ? new SampleCharge(meter, tenant) : undefined;
    // Charge the size of the body first: the body was received, even if the request turns out to be invalid.
    charge?.body(bodyBytes);
    return await work(charge);
  } finally {
    const durationMs = performance.now() - startedMs;
    meter.count(tenant, {
      requests: 1,
      sampleReads: readsSamples ? 1 : 0,
      bodyBytes,
      functionMbMs: Math.ceil(durationMs * MEMORY_MB),
    });
    await meter.exchange(tenant);
  }
}

/**
 * Runs a query if the tenant's query budget admits it, and counts its time.
 *
 * @throws {HttpError} 429, naming the limit
 * @throws whatever `work` throws
 */
export async function runWithinBudget<T>(
  queries: QueryBudgets,
  meter: TenantMeter,
  tenant: Tenant,
  work: () => Promise<T>,
): Promise<T> {
  const query = await queries.begin(tenant);
  if ('refusedBy' in query) {
    const { refusedBy, waitMs } = query;
    throw overLimit(refusedBy, meter.limits(tenant)[refusedBy], Math.ceil(waitMs / 1000));
  }
  try {
    return await work();
  } finally {
    await queries.end(tenant, query);
  }
}

function admit(meter: TenantMeter, tenant: Tenant, budgets: readonly BudgetName[], bodyBytes: number) {
  const limits = meter.limits(tenant);
  if (bodyBytes > limits.bodyBytes)
    throw new HttpError(413, `the body has ${bodyBytes} bytes; the limit bodyBytes is ${limits.bodyBytes}`);
  for (const name of budgets) {
    const waitMs = meter.waitMs(tenant, name);
    if (waitMs > 0) throw overLimit(name, limits[name], Math.ceil(waitMs / 1000));
  }
}

/** Advice to a tenant that has reached a limit, for each limit where waiting does not help. */
const REMEDIES: Partial<Record<LimitName, string>> = {
  hosts: 'retire hosts that are gone, or ask an operator to raise the limit',
  series:
    'post fewer different series (one that gets no samples for a day stops counting), or ask an operator to raise the limit',
};

/**
 * Builds the 429 response to a request that exceeds a limit.
 *
 * @param retryAfterSeconds set when waiting may help
 */
export function overLimit(name: LimitName, limit: number, retryAfterSeconds?: number): HttpError {
  const remedy =
    REMEDIES[name] ?? `try again in ${retryAfterSeconds} s, or ask an operator to raise the limit`;
  const headers = retryAfterSeconds === undefined ? undefined : { 'retry-after': String(retryAfterSeconds) };
  return new HttpError(429, `the limit ${name} of ${limit} is reached: ${remedy}`, headers);
}

function bytesOf({ body, isBase64Encoded }: APIGatewayProxyEventV2): number {
  if (body === undefined) return 0;
  return isBase64Encoded ? Math.floor((body.length * 3) / 4) : Buffer.byteLength(body);
}
