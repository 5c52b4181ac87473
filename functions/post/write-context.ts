import type { SeriesDictionary } from '../../shared/dictionary/series-dictionary';
import type { AcceptedTimes } from '../../shared/protocol/protocol';
import type { MetricMetadataStore } from '../../shared/registry/metric-metadata';
import type { SampleWriter } from '../../shared/stream/sample-writer';
import type { SampleCharge } from '../../shared/tenancy/sample-charge';

/** What the handler of a write protocol works with: the stores, the dictionary and the limits of its tenant. */
export interface WriteContext {
  readonly writer: SampleWriter;
  /** The tenant's dictionary. */
  readonly dictionary: SeriesDictionary;
  readonly metadata: MetricMetadataStore;
  /** The range of timestamps that are accepted. */
  readonly accepts: AcceptedTimes;
  /** Maximum size of a body in bytes: the tenant's limit. */
  readonly maxBytes: number;
  /**
   * Charges the tenant for the body's bytes before they are parsed, and for samples before a store is called.
   */
  readonly charge: SampleCharge;
}
