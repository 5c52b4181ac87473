import type { SeriesDictionary } from '../../shared/dictionary/series-dictionary';
import type { AcceptedTimes } from '../../shared/protocol/protocol';
import type { MetricMetadataStore } from '../../shared/registry/metric-metadata';
import type { SampleWriter } from '../../shared/stream/sample-writer';
import type { SampleCharge } from '../../shared/tenancy/sample-charge';

/** The adapters and bounds for taking a request's body. */
export interface Taking {
  readonly writer: SampleWriter;
  /** The tenant's. */
  readonly dictionary: SeriesDictionary;
  readonly metadata: MetricMetadataStore;
  readonly accepts: AcceptedTimes;
  /** The tenant's limit of a body. */
  readonly maxBytes: number;
  /** Is told the body's bytes before it is parsed, then its samples before a store is asked. */
  readonly charge: SampleCharge;
}
