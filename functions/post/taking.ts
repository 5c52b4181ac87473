import type { SeriesDictionary } from '../../shared/dictionary/series-dictionary';
import type { AcceptedTimes } from '../../shared/protocol/protocol';
import type { MetricMetadataStore } from '../../shared/registry/metric-metadata';
import type { SampleWriter } from '../../shared/stream/sample-writer';
import type { SampleCharge } from '../../shared/tenancy/sample-charge';

/** The adapters and bounds for taking a request's body. */
export interface Taking {
  readonly writer: SampleWriter;
  /** The tenant's dictionary. */
  readonly dictionary: SeriesDictionary;
  readonly metadata: MetricMetadataStore;
  readonly accepts: AcceptedTimes;
  /** Most bytes of a body, by the tenant's limit. */
  readonly maxBytes: number;
  /** Charges the body's bytes before the parser reads them, and its samples before post asks a store. */
  readonly charge: SampleCharge;
}
