import type { TenantMeter } from './tenant-meter';
import type { Tenant } from './tenants';

/** Bytes of a body that are charged as one sample: more than a sample takes in any protocol, but for labels of unusual length. */
const BYTES_A_SAMPLE = 1_000;

/**
 * Charges one post to its tenant's budget of samples: the samples that its body has, dropped ones included, and at least one for each
 * kilobyte. So a body costs as much as it makes the function work, whether or not anything of it is stored.
 */
export class SampleCharge {
  private charged = 0;

  constructor(
    private readonly meter: Pick<TenantMeter, 'count'>,
    private readonly tenant: Tenant,
  ) {}

  /** Call before the body is parsed. @param bytes after decompression */
  body(bytes: number): void {
    this.raiseTo(Math.max(1, Math.ceil(bytes / BYTES_A_SAMPLE)));
  }

  /** Call before a store is asked. @param samples that the body has, dropped ones included */
  samples(samples: number): void {
    this.raiseTo(samples);
  }

  private raiseTo(total: number): void {
    if (total <= this.charged) return;
    this.meter.count(this.tenant, { samplesCharged: total - this.charged });
    this.charged = total;
  }
}
