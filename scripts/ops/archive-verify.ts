import type { ObjectDifference, VerifySlice } from '../../shared/operations/archive-commands';
import type { TenantList } from '../../shared/operations/tenant-commands';
import { type Functions, OperatorError } from './invoke';
import { invokeInSlices } from './invoke-in-slices';
import { table } from './table';

export interface VerifyOptions {
  /** Undefined for all tenants. */
  readonly tenant?: string;
  /** UTC days, both inclusive. */
  readonly from?: string;
  readonly to?: string;
}

export interface VerifyResult {
  readonly objects: number;
  readonly samples: number;
  readonly bytes: number;
  readonly differences: readonly (ObjectDifference & { readonly tenant: string })[];
}

/** Returns the tenants that a command applies to: the named one, or all. */
async function tenantNames(functions: Functions, tenant: string | undefined): Promise<string[]> {
  if (tenant !== undefined) return [tenant];
  const { tenants } = await functions.invoke<TenantList>('operator', { command: 'tenants list' });
  return tenants.map(({ name }) => name);
}

/** Reads and checks every object of the archive, slice by slice. */
export async function verifyArchive(
  functions: Functions,
  { tenant, from, to }: VerifyOptions,
  progress: (line: string) => void,
): Promise<VerifyResult> {
  const total = { objects: 0, samples: 0, bytes: 0 };
  const differences: VerifyResult['differences'][number][] = [];
  for (const name of await tenantNames(functions, tenant)) {
    const event = { command: 'archive verify', tenant: name, from, to };
    for await (const slice of invokeInSlices<VerifySlice>(functions, 'operator', event)) {
      total.objects += slice.objects;
      total.samples += slice.samples;
      total.bytes += slice.bytes;
      differences.push(...slice.differences.map((difference) => ({ tenant: name, ...difference })));
      if (slice.next !== null) progress(`${total.objects} objects read, ${differences.length} differ`);
    }
  }
  return { ...total, differences };
}

export function verifyText({ objects, samples, bytes, differences }: VerifyResult): string {
  const read = `${objects} objects, ${samples} samples, ${bytes} bytes read back`;
  if (objects === 0) return 'the archive has no objects for these days';
  if (differences.length === 0) return `${read}: all match the manifest`;
  const rows = differences.map(({ tenant, day, partition, key, problem }) => [
    tenant,
    day,
    String(partition),
    key,
    problem,
  ]);
  return `${read}\n\n${table(['tenant', 'day', 'partition', 'object', 'problem'], rows)}`;
}

/**
 * Makes the command exit with 1 if an object differs from the manifest.
 *
 * @throws {OperatorError} if an object differs
 */
export function requireSame({ differences }: VerifyResult): void {
  if (differences.length > 0)
    throw new OperatorError(
      `${differences.length} objects of the archive differ from the manifest: restore the bucket's former versions of ` +
        'them (infra/README.md), or open their days while the warm tier still has them',
    );
}
