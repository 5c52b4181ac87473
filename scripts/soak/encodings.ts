import { snappyCompress } from 'hysnappy';
import protobuf from 'protobufjs';
import { labelValue, METRIC_NAME } from '../../shared/model/labels';
import type { Sample } from './ledger';

/** A request with samples in one of the write protocols. */
export interface PostRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer>;
  /** Returns whether a successful response confirms that all samples were stored. */
  isWhole(bytes: Buffer): boolean;
}

/**
 * The write protocols in all their encodings. `mackerel` only accepts series of registered hosts, and
 * `mackerelService` only accepts series of one registered service.
 */
export const ENCODINGS = {
  mackerel,
  mackerelService,
  lines,
  remoteWrite,
  remoteWrite2,
  otlpJson,
  otlpProtobuf,
} satisfies Record<string, (samples: readonly Sample[]) => PostRequest>;

const isEmpty = (bytes: Buffer) => bytes.length === 0;

function mackerel(samples: readonly Sample[]): PostRequest {
  const points = samples.map(({ labels, time, value }) => ({
    hostId: labelValue(labels, 'host'),
    name: labelValue(labels, METRIC_NAME),
    time,
    value,
  }));
  return {
    path: '/api/v0/tsdb',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(points),
    isWhole: (bytes) => {
      const { success, dropped } = JSON.parse(bytes.toString()) as { success?: boolean; dropped?: object };
      return success === true && dropped === undefined;
    },
  };
}

function mackerelService(samples: readonly Sample[]): PostRequest {
  const service = labelValue(samples[0]!.labels, 'service');
  return { ...mackerel(samples), path: `/api/v0/services/${service}/tsdb` };
}

/** Encodes line protocol. The part of a series' name before the first `_` is the measurement, the rest is the field. */
function lines(samples: readonly Sample[]): PostRequest {
  const fields = Map.groupBy(samples, ({ labels, time }) => {
    const tags = labels.filter(([name]) => name !== METRIC_NAME).map(([name, value]) => `,${name}=${value}`);
    return `${measurementOf(labels)[0]}${tags.join('')} ${time}`;
  });
  const body = Array.from(fields, ([key, those]) => {
    const [head, time] = key.split(' ');
    const values = those.map(({ labels, value }) => `${measurementOf(labels)[1]}=${value}`);
    return `${head} ${values.join(',')} ${time}`;
  });
  return {
    path: '/api/v2/write?precision=s',
    headers: { 'content-type': 'text/plain' },
    body: body.join('\n'),
    isWhole: isEmpty,
  };
}

function measurementOf(labels: Sample['labels']): readonly [measurement: string, field: string] {
  const name = labelValue(labels, METRIC_NAME)!;
  const end = name.indexOf('_');
  return [name.slice(0, end), name.slice(end + 1)];
}

const { root } = protobuf.parse(`
syntax = "proto3";
package soak;
message WriteRequest { repeated TimeSeries timeseries = 1; }
message TimeSeries { repeated Label labels = 1; repeated Sample samples = 2; }
message Label { string name = 1; string value = 2; }
message Sample { double value = 1; int64 timestamp = 2; }
message Request2 { repeated string symbols = 4; repeated TimeSeries2 timeseries = 5; }
message TimeSeries2 { repeated uint32 labels_refs = 1; repeated Sample samples = 2; }
message MetricsRequest { repeated ResourceMetrics resource_metrics = 1; }
message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; }
message Resource { repeated KeyValue attributes = 1; }
message ScopeMetrics { repeated Metric metrics = 2; }
message Metric { string name = 1; Gauge gauge = 5; }
message Gauge { repeated NumberDataPoint data_points = 1; }
message NumberDataPoint { repeated KeyValue attributes = 7; fixed64 time_unix_nano = 3; double as_double = 4; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue { string string_value = 1; }
message MetricsResponse { PartialSuccess partial_success = 1; }
message PartialSuccess { int64 rejected_data_points = 1; string error_message = 2; }
`);

/** Encodes a message given as a plain object. */
function encoded(type: string, value: object): Uint8Array<ArrayBuffer> {
  const message = root.lookupType(`soak.${type}`);
  return Uint8Array.from(message.encode(message.fromObject(value)).finish());
}

/** Encodes an uncompressed `prometheus.WriteRequest` of remote write 1.0. */
export function writeRequestOf(samples: readonly Sample[]): Uint8Array<ArrayBuffer> {
  const timeseries = samples.map(({ labels, time, value }) => ({
    labels: labels.map(([name, text]) => ({ name, value: text })),
    samples: [{ timestamp: time * 1000, value }],
  }));
  return encoded('WriteRequest', { timeseries });
}

function remoteWrite(samples: readonly Sample[]): PostRequest {
  return {
    path: '/prometheus/api/v1/write',
    headers: {
      'content-type': 'application/x-protobuf',
      'content-encoding': 'snappy',
      'x-prometheus-remote-write-version': '0.1.0',
    },
    body: Uint8Array.from(snappyCompress(writeRequestOf(samples))),
    isWhole: isEmpty,
  };
}

function remoteWrite2(samples: readonly Sample[]): PostRequest {
  const symbols = new Map([['', 0]]);
  const referenceOf = (text: string) => {
    const known = symbols.get(text) ?? symbols.size;
    symbols.set(text, known);
    return known;
  };
  const timeseries = samples.map(({ labels, time, value }) => ({
    labelsRefs: labels.flatMap(([name, text]) => [referenceOf(name), referenceOf(text)]),
    samples: [{ timestamp: time * 1000, value }],
  }));
  return {
    path: '/prometheus/api/v1/write',
    headers: {
      'content-type': 'application/x-protobuf;proto=io.prometheus.write.v2.Request',
      'content-encoding': 'snappy',
      'x-prometheus-remote-write-version': '2.0.0',
    },
    body: Uint8Array.from(snappyCompress(encoded('Request2', { symbols: [...symbols.keys()], timeseries }))),
    isWhole: isEmpty,
  };
}

function otlpJson(samples: readonly Sample[]): PostRequest {
  return {
    path: '/v1/metrics',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(metricsRequestOf(samples)),
    isWhole: (bytes) => {
      const { partialSuccess } = JSON.parse(bytes.toString()) as { partialSuccess?: PartialSuccess };
      return Number(partialSuccess?.rejectedDataPoints ?? 0) === 0;
    },
  };
}

function otlpProtobuf(samples: readonly Sample[]): PostRequest {
  return {
    path: '/v1/metrics',
    headers: { 'content-type': 'application/x-protobuf' },
    body: encoded('MetricsRequest', metricsRequestOf(samples)),
    isWhole: (bytes) => {
      const response = root.lookupType('soak.MetricsResponse').decode(bytes) as {
        partialSuccess?: PartialSuccess;
      };
      return Number(response.partialSuccess?.rejectedDataPoints ?? 0) === 0;
    },
  };
}

interface PartialSuccess {
  readonly rejectedDataPoints?: unknown;
}

/** Encodes each sample as a gauge. `job` and `instance` become its resource, and other labels its attributes. */
function metricsRequestOf(samples: readonly Sample[]): object {
  const attribute = (key: string, value: string) => ({ key, value: { stringValue: value } });
  const byTarget = Map.groupBy(samples, ({ labels }) =>
    JSON.stringify([labelValue(labels, 'job'), labelValue(labels, 'instance')]),
  );
  const resourceMetrics = Array.from(byTarget, ([target, those]) => {
    const [job, instance] = JSON.parse(target) as (string | null)[];
    const attributes = [
      ...(job ? [attribute('service.name', job)] : []),
      ...(instance ? [attribute('service.instance.id', instance)] : []),
    ];
    const metrics = those.map(({ labels, time, value }) => ({
      name: labelValue(labels, METRIC_NAME),
      gauge: {
        dataPoints: [
          {
            timeUnixNano: `${time}000000000`,
            asDouble: value,
            attributes: labels
              .filter(([name]) => name !== METRIC_NAME && name !== 'job' && name !== 'instance')
              .map(([name, text]) => attribute(name, text)),
          },
        ],
      },
    }));
    return { resource: { attributes }, scopeMetrics: [{ metrics }] };
  });
  return { resourceMetrics };
}
