import type { TenantMeter } from './tenant-meter';
import type { Tenant } from './tenants';

/**
 * A body counts as at least one sample for each started block of this many bytes. In every protocol, a sample is
 * smaller than this, unless its labels are unusually long.
 */
const BYTES_A_SAMPLE = 1_000;

/**
 * Charges one post to its tenant's sample budget: the samples in its body, including dropped ones, but at least one
 * for each kilobyte. So a body is charged for the work that it causes, even if none of it is stored.
 */
export class SampleCharge {
  private charged = 0;

  constructor(
    private readonly meter: Pick<TenantMeter, 'count'>,
    private readonly tenant: Tenant,
  ) {}

  /**
   * Charges the size of a body. Call it before parsing.
   *
   * @param bytes size after decompression
   */
  body(bytes: number): void {
    this.raiseTo(Math.max(1, Math.ceil(bytes / BYTES_A_SAMPLE)));
  }

  /**
   * Charges the samples of a body. Call it before the samples are looked up or written in any store.
   *
   * @param samples number of samples in the body, including dropped ones
   */
  samples(samples: number): void {
    this.raiseTo(samples);
  }

  private raiseTo(total: number): void {
    if (total <= this.charged) return;
    this.meter.count(this.tenant, { samplesCharged: total - this.charged });
    this.charged = total;
  }
}
