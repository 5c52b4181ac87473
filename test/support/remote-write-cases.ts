import type { PlainLabels, PlainSeries, SeriesExtras } from '../unit/protocol/prometheus/messages';

/** A case of prometheus/compliance's receiver tests, by its name there. */
export interface ReceiverCase {
  readonly name: string;
  readonly series: readonly (PlainSeries & SeriesExtras)[];
  /** Number of samples that are written. */
  readonly samples: number;
  /**
   * A request that contains histograms, exemplars or series without data gets a 400, because version 2.0 forbids
   * reporting success if a part was not written.
   */
  readonly status: 204 | 400;
}

type Series = PlainSeries & SeriesExtras;
/** Unix time in ms. */
type Time = number;

const labelsOf = (labels: Readonly<Record<string, string>>): PlainLabels => Object.entries(labels);
const TARGET = { __name__: 'up', job: 'testjob', instance: 'localhost:9090' };
const HOUR_MS = 3_600_000;
/**
 * Placeholder for Prometheus' stale marker, a NaN whose bits a JavaScript number does not preserve: see {@link
 * withStaleMarkers}.
 */
const STALE = 12345.678;
const STALE_BITS = Buffer.from('7ff0000000000002', 'hex').reverse();
const VALUES = { '1.0': 1, StaleNaN: STALE, NaN: Number.NaN, Inf: Infinity, '-Inf': -Infinity };
const TYPES = { counter: 1, gauge: 2, histogram: 3, gauge_histogram: 4, summary: 5, info: 6, stateset: 7 };

/** The cases, with samples at `nowMs` and before. */
export function receiverCases(nowMs: Time): ReceiverCase[] {
  const sample = (
    labels: Readonly<Record<string, string>>,
    { value = 1, ageMs = 0, ...extras }: { value?: number; ageMs?: number } & SeriesExtras = {},
  ): Series => ({
    labels: labelsOf(labels),
    samples: [{ timestamp: nowMs - ageMs, value }],
    ...extras,
  });
  const named = (name: string, extras?: Parameters<typeof sample>[1]) => sample({ __name__: name }, extras);
  const histogram = (labels: Readonly<Record<string, string>>, extras: SeriesExtras = {}): Series => ({
    labels: labelsOf(labels),
    samples: [],
    histograms: 1,
    ...extras,
  });
  const metadata = (type: number, help = '', unit = '') => ({ metadata: { type, help, unit } });
  const many = (make: (i: number) => Series) => Array.from({ length: 50 }, (_, i) => make(i));
  const startTimestamp = nowMs - HOUR_MS;

  const written = (name: string, ...series: Series[]): ReceiverCase => ({
    name,
    series,
    samples: series.reduce((sum, { samples }) => sum + samples.length, 0),
    status: 204,
  });
  /** @param samples number of samples of the valid series */
  const partly = (name: string, samples: number, ...series: Series[]): ReceiverCase => ({
    name,
    series,
    samples,
    status: 400,
  });

  return [
    ...Object.entries(VALUES).flatMap(([text, value]) => [
      written(`SingleMetric/${text}/simple metric`, named('up', { value })),
      written(`SingleMetric/${text}/simple metric with multiple labels`, sample(TARGET, { value })),
      written(
        `SingleMetric/${text}/simple metric with newlines`,
        sample({ ...TARGET, job: 'test\njob\n' }, { value }),
      ),
      written(
        `SingleMetric/${text}/simple metric with dots`,
        sample({ __name__: 'resource.cpu.usage', 'job.name': 'j', 'instance.name': 'i' }, { value }),
      ),
      written(
        `SingleMetric/${text}/simple metric with spaces`,
        sample({ __name__: 'resource cpu usage', 'job name': 'j', 'instance name': 'i' }, { value }),
      ),
      partly(
        `SingleMetric/${text}/simple metric without name label`,
        0,
        sample({ job: 'j', instance: 'i' }, { value }),
      ),
      partly(`SingleMetric/${text}/empty metric`, 0, sample({}, { value })),
      written(
        `MultipleMetrics/${text}/multiple metrics`,
        ...[0, 1, 2, 3].map((i) => sample({ ...TARGET, instance: `i${i}` }, { value })),
      ),
      partly(
        `MultipleMetrics/${text}/multiple metrics, without name label`,
        0,
        ...[0, 1, 2, 3].map((i) => sample({ job: 'j', instance: `i${i}` }, { value })),
      ),
      partly(
        `MultipleMetrics/${text}/multiple metrics, 1 without name label`,
        3,
        sample({ job: 'j', instance: 'i0' }, { value }),
        ...[1, 2, 3].map((i) => sample({ ...TARGET, instance: `i${i}` }, { value })),
      ),
    ]),
    written('CounterWithCreatedTimestamp', named('http_requests_total', { startTimestamp })),

    ...['basic', 'custom_buckets', 'positive_only', 'negative_only', 'minimal', 'bad_count'].map((kind) =>
      partly(`Histograms/${kind}_histogram`, 0, histogram({ __name__: 'test_histogram', kind })),
    ),
    partly('HistogramWithCreatedTimestamp', 0, histogram({ __name__: 'h', job: 'api' }, { startTimestamp })),
    partly('MultipleHistograms', 0, histogram({ __name__: 'hist1' }), histogram({ __name__: 'hist2' })),
    partly('EmptyHistogram', 0, histogram({ __name__: 'empty_hist' })),
    partly('HistogramWithMetadata', 0, histogram({ __name__: 'h' }, metadata(TYPES.histogram, 'H', 's'))),
    partly('HistogramWithExemplar', 0, histogram({ __name__: 'h' }, { exemplars: 1 })),
    partly(
      'HistogramWithMetadataAndExemplar',
      0,
      histogram({ __name__: 'h' }, { exemplars: 1, ...metadata(TYPES.histogram) }),
    ),
    partly(
      'MultipleHistogramsWithMetadata',
      0,
      histogram({ __name__: 'cpu_usage_histogram' }, metadata(TYPES.histogram)),
      histogram({ __name__: 'memory_usage_histogram' }, metadata(TYPES.histogram)),
    ),

    ...[
      'basic_exemplar',
      'exemplar_with_span_id',
      'exemplar_without_trace_id',
      'exemplar_with_multiple_labels',
      'exemplar_no_labels',
      'exemplar_with_special_chars',
      'exemplar_with_unicode',
    ].map((kind) => partly(`Exemplars/${kind}`, 1, named('test_metric', { exemplars: 1 }))),
    partly('ExemplarWithCreatedTimestamp', 1, named('http_requests_total', { exemplars: 1, startTimestamp })),
    partly(
      'MultipleExemplars',
      3,
      ...['GET', 'POST', 'PUT'].map((method) =>
        sample({ __name__: 'request_duration', method }, { exemplars: 1 }),
      ),
    ),
    partly(
      'ExemplarTimestamps',
      3,
      ...[HOUR_MS, 60_000, 0].map((ageMs) => named('latency_hist', { ageMs, exemplars: 1 })),
    ),
    partly('ExemplarValidation/exemplar_without_name_label', 0, sample({ job: 'test' }, { exemplars: 1 })),
    partly('ExemplarValidation/exemplar_with_empty_name', 0, named('', { exemplars: 1 })),
    partly('ExemplarValidation/exemplar_with_valid_name', 1, named('valid_metric', { exemplars: 1 })),
    ...Object.entries({ zero: 0, negative: -123.456, large: 1e10, small: 1e-10, nan: Number.NaN }).map(
      ([kind, value]) =>
        partly(`ExemplarSpecialValues/${kind}_value`, 1, named('test_metric', { value, exemplars: 1 })),
    ),
    ...Object.entries({ inf: Infinity, '-inf': -Infinity }).map(([kind, value]) =>
      partly(`ExemplarSpecialValues/${kind}_value`, 1, named('test_metric', { value, exemplars: 1 })),
    ),

    written(
      'Metadata/counter_metadata',
      named('http_requests_total', metadata(TYPES.counter, 'H', 'requests')),
    ),
    written('Metadata/gauge_metadata', named('cpu_usage_percent', metadata(TYPES.gauge, 'H', 'percent'))),
    partly(
      'Metadata/histogram_metadata',
      0,
      histogram({ __name__: 'request_duration_seconds' }, metadata(TYPES.histogram, 'H', 'seconds')),
    ),
    written('Metadata/metadata_no_help_no_unit', named('simple_counter', metadata(TYPES.counter))),
    written(
      'Metadata/metadata_with_special_chars',
      named('test_metric', metadata(TYPES.gauge, 'Test metric with\nnewlines and "quotes"', 'bytes/sec')),
    ),
    written(
      'Metadata/unspecified_metadata_type',
      named('unknown_metric', metadata(0, 'Unknown metric type')),
    ),
    ...(['info', 'stateset', 'summary', 'gauge_histogram'] as const).map((type) =>
      written(`Metadata/${type}_metadata_type`, named(`of_${type}`, metadata(TYPES[type], 'H'))),
    ),
    written(
      'CounterMetadataWithCreatedTimestamp',
      named('http_requests_total', { startTimestamp, ...metadata(TYPES.counter, 'H', 'requests') }),
    ),
    written('MetadataWithSamples', named('http_requests_total', metadata(TYPES.counter, 'H', 'requests'))),
    written(
      'MultipleMetadata',
      ...['cpu_usage', 'memory_usage', 'disk_usage'].map((name) =>
        named(name, metadata(TYPES.gauge, 'H', 'u')),
      ),
    ),
    partly(
      'MetadataWithComplexLabels',
      0,
      histogram({ ...TARGET, method: 'GET', status: '200' }, metadata(TYPES.histogram)),
    ),
    partly(
      'MetadataValidation/metadata_without_name_label',
      0,
      sample({ job: 'test' }, metadata(TYPES.counter, 'H', 'u')),
    ),
    partly('MetadataValidation/metadata_with_empty_name', 0, named('', metadata(TYPES.gauge, 'H', 'u'))),
    written('MetadataValidation/metadata_with_valid_name', named('valid', metadata(TYPES.counter, 'H', 'u'))),

    partly(
      'SamplesWithMetadataAndExemplars',
      1,
      named('http_requests_total', { exemplars: 1, ...metadata(TYPES.counter) }),
    ),
    partly(
      'HistogramsWithMetadataAndExemplars',
      0,
      histogram({ __name__: 'h' }, { exemplars: 1, ...metadata(TYPES.histogram) }),
    ),
    partly(
      'ComplexSamplesRequest',
      2,
      named('cpu_usage', { exemplars: 1, ...metadata(TYPES.gauge) }),
      named('memory_usage', metadata(TYPES.gauge)),
    ),
    partly(
      'ComplexHistogramsRequest',
      0,
      histogram({ __name__: 'response_time_hist' }, { exemplars: 1, ...metadata(TYPES.histogram) }),
      histogram({ __name__: 'request_size_hist' }, metadata(TYPES.histogram)),
    ),
    partly(
      'MultipleMetricFamiliesSamples',
      2,
      named('http_requests_total', { value: 1000, exemplars: 1, ...metadata(TYPES.counter) }),
      named('temperature_celsius', { value: 23.5, ...metadata(TYPES.gauge) }),
    ),
    partly(
      'MultipleMetricFamiliesHistograms',
      0,
      histogram({ __name__: 'h', handler: '/metrics' }, { exemplars: 1, ...metadata(TYPES.histogram) }),
    ),
    partly('EdgeCaseCombinations/metadata_without_data', 0, {
      labels: labelsOf({ __name__: 'orphan_metric' }),
      samples: [],
      ...metadata(TYPES.counter, 'Orphaned metric metadata', 'count'),
    }),
    partly('EdgeCaseCombinations/exemplars_without_data', 0, {
      labels: labelsOf({ __name__: 'orphan_metric' }),
      samples: [],
      exemplars: 1,
    }),
    partly(
      'EdgeCaseCombinations/mixed_timestamp_data',
      2,
      named('old_metric', { ageMs: HOUR_MS, exemplars: 1 }),
      named('new_metric', { value: 2 }),
    ),
    partly(
      'ManySamples',
      50,
      ...many((i) => named(`counter_metric_${i}`, { exemplars: 1, ...metadata(TYPES.counter, `H ${i}`) })),
    ),
    partly(
      'ManyHistograms',
      0,
      ...many((i) => histogram({ __name__: `h_${i}` }, { exemplars: 1, ...metadata(TYPES.histogram) })),
    ),
    partly(
      'SpecialCharactersCombined',
      1,
      sample(
        { __name__: 'test_metric', job: 'test-job_with.special@chars', environment: 'test🚀' },
        { value: 42, exemplars: 1, ...metadata(TYPES.gauge, 'äöü, newlines\nand "quotes"', 'special/units') },
      ),
    ),
    partly('CustomBucketsHistogramWithExemplar', 0, histogram({ __name__: 'custom' }, { exemplars: 1 })),
  ];
}

/** Replaces the placeholders {@link STALE} in a message with the bits of a stale marker. */
export function withStaleMarkers(message: Uint8Array): Uint8Array {
  const bytes = Buffer.from(message);
  const value = Buffer.alloc(8);
  value.writeDoubleLE(STALE);
  for (let at = bytes.indexOf(value); at !== -1; at = bytes.indexOf(value)) STALE_BITS.copy(bytes, at);
  return bytes;
}
