import type { SeriesDictionary } from '../../shared/dictionary/series-dictionary';
import type { AcceptedTimes } from '../../shared/protocol/protocol';
import type { MetricMetadataStore } from '../../shared/registry/metric-metadata';
import type { SampleWriter } from '../../shared/stream/sample-writer';
import type { SampleCharge } from '../../shared/tenancy/sample-charge';

/** What is needed to take a request's body: adapters and limits. */
export interface Taking {
  readonly writer: SampleWriter;
  /** The tenant's dictionary. */
  readonly dictionary: SeriesDictionary;
  readonly metadata: MetricMetadataStore;
  readonly accepts: AcceptedTimes;
  /** Longest body in bytes, by the tenant's limit. */
  readonly maxBytes: number;
  /** Charges the body's bytes before it is parsed, and its samples before any store is called. */
  readonly charge: SampleCharge;
}
