import { zstdDecompressSync } from 'node:zlib';
import type { SeriesDictionaries } from '../dictionary/dictionaries';
import { log } from '../platform/log';
import { remoteWrite } from '../protocol/prometheus/remote-write';
import type { SampleWriter } from '../stream/sample-writer';
import { SeriesLimitError } from '../tenancy/limits';
import type { TenantMeter } from '../tenancy/tenant-meter';
import type { Tenant } from '../tenancy/tenants';

/** Maximum size of an uncompressed body of samples, in bytes. */
const MAX_WRITE_REQUEST_BYTES = 128 * 1024 * 1024;

/** Dependencies for writing the samples that rules produce. */
export interface ResultOutputs {
  readonly writer: Pick<SampleWriter, 'write'>;
  readonly meter: Pick<TenantMeter, 'count' | 'exchange'>;
  readonly dictionaries: SeriesDictionaries;
  /** Maximum age of a sample, in ms. */
  readonly maxAgeMs: number;
  readonly now: () => number;
}

/**
 * Puts samples of rules into the stream as a post does, within the tenant's series limit, and counts them in its
 * usage. The samples are not charged to the budget for posts: the evaluator uses that budget to tell whether clients
 * post. Samples beyond a limit are dropped, because retrying at once would not help. The rules' alerts are not
 * affected.
 *
 * @param body a `prometheus.WriteRequest`, compressed with zstd
 * @throws {StreamUnavailableError} when the stream does not accept all samples
 */
export async function writeResults(
  { writer, meter, dictionaries, maxAgeMs, now }: ResultOutputs,
  tenant: Tenant,
  body: Uint8Array,
): Promise<void> {
  const bytes = zstdDecompressSync(body, { maxOutputLength: MAX_WRITE_REQUEST_BYTES });
  const { sources, samples, dropped } = remoteWrite.parse(
    dictionaries.of(tenant.id),
    bytes,
    { nowMs: now(), maxAgeMs },
    { version: 1 },
  );
  const overLimit = await writer.write(tenant, sources, samples).catch((error: unknown) => {
    if (error instanceof SeriesLimitError) return samples;
    throw error;
  });
  const { invalid, tooOld, tooNew, reasons } = dropped;
  if (overLimit + invalid + tooOld + tooNew + dropped.beyond > 0)
    log.warn('samples of rules were dropped', {
      tenant: tenant.name,
      beyond: overLimit,
      invalid,
      tooOld,
      tooNew,
      reasons,
    });
  await meter.exchange(tenant);
}
