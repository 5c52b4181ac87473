import type { AcceptedTimes } from '../../shared/protocol/protocol';
import type { MetricMetadataStore } from '../../shared/registry/metric-metadata';
import type { SampleWriter } from './sample-writer';

/** The adapters and bounds for taking a request's body. */
export interface Taking {
  readonly writer: SampleWriter;
  readonly metadata: MetricMetadataStore;
  readonly accepts: AcceptedTimes;
  /** The tenant's limit of a body. */
  readonly maxBytes: number;
}
