import { snappyCompress } from 'hysnappy';
import protobuf from 'protobufjs';
import {
  type Labels,
  labelsOf,
  labelValue,
  METRIC_NAME,
  metricOf,
  sourceOf,
} from '../../shared/model/labels';
import type { Random } from '../faults/random';
import type { Sample } from './ledger';

/** A request with samples, in the sender's protocol. */
export interface PostRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer>;
  /** Whether the body of a successful answer says that all samples were kept. */
  isWhole(answer: string): boolean;
}

/** Posts the series of one host or target. */
export interface Sender {
  readonly series: readonly Labels[];
  /** Cuts samples into requests; may leave some out. */
  cut(samples: readonly Sample[], random: Random): readonly (readonly Sample[])[];
  encode(samples: readonly Sample[]): PostRequest;
}

/** How senders group series into sources and samples into requests. */
export const SHAPES = {
  dense: 'Mackerel, all metrics of a host in one request',
  telegraf: 'line protocol, measurements of three fields, a host in one request',
  cut: 'line protocol, a random half of a host, requests cut at random places',
  lone: 'line protocol, one series a source, many sources in one request',
  prometheus: 'remote write, the series of a target hashed over two requests',
  otlp: 'OTLP as JSON, a resource in one request',
} as const;
export type Shape = keyof typeof SHAPES;

/** Fields of a measurement in the shape `telegraf`. */
const FIELDS = 3;

const whole = (samples: readonly Sample[]) => [samples];

/**
 * @param host id of the sender's host, which only `dense` needs to be registered
 * @param count of its series
 */
export function senderOf(shape: Shape, host: string, count: number): Sender {
  const all = Array.from({ length: count }, (_, i) => i);
  const named = (labels: Labels, name: (i: number) => string) => all.map((i) => metricOf(labels, name(i)));
  const target = labelsOf(['instance', host], ['job', 'soak']);
  switch (shape) {
    case 'dense':
      return { series: named(sourceOf.host(host), (i) => `custom.soak.m${i}`), cut: whole, encode: mackerel };
    case 'telegraf': {
      const name = (i: number) => `m${Math.floor(i / FIELDS)}_f${i % FIELDS}`;
      return { series: named(labelsOf(['host', host], ['region', 'r']), name), cut: whole, encode: lines };
    }
    case 'cut':
      return { series: named(sourceOf.host(host), (i) => `agent_f${i}`), cut: cutAnywhere, encode: lines };
    case 'lone': {
      const series = all.map((i) => metricOf([['sensor', `${host}.${i}`]], 'probe_value'));
      return { series, cut: whole, encode: lines };
    }
    case 'prometheus': {
      const series = all.map((i) => labelsOf([METRIC_NAME, `soak_${i % 5}`], ['mode', `${i}`], ...target));
      return { series, cut: hashed, encode: remoteWrite };
    }
    case 'otlp':
      return { series: named(target, (i) => `soak_m${i}`), cut: whole, encode: otlp };
  }
}

function cutAnywhere(samples: readonly Sample[], random: Random): Sample[][] {
  const half = samples.filter(() => random.chance(0.5));
  const at = random.integer(0, half.length);
  return [half.slice(0, at), half.slice(at)].filter((part) => part.length > 0);
}

/** As Prometheus hashes series over its shards: always the same. */
function hashed(samples: readonly Sample[]): Sample[][] {
  const isFirst = ({ labels }: Sample) => Number(labelValue(labels, 'mode')) % 3 === 0;
  return [samples.filter(isFirst), samples.filter((sample) => !isFirst(sample))].filter(
    (part) => part.length > 0,
  );
}

export function mackerel(samples: readonly Sample[]): PostRequest {
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
    isWhole: (answer) => {
      const { success, dropped } = JSON.parse(answer) as { success?: boolean; dropped?: object };
      return success === true && dropped === undefined;
    },
  };
}

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
    isWhole: (answer) => answer === '',
  };
}

function measurementOf(labels: Labels): readonly [measurement: string, field: string] {
  const name = labelValue(labels, METRIC_NAME)!;
  const end = name.indexOf('_');
  return [name.slice(0, end), name.slice(end + 1)];
}

const WriteRequest = protobuf
  .parse(`
syntax = "proto3";
message WriteRequest { repeated TimeSeries timeseries = 1; }
message TimeSeries { repeated Label labels = 1; repeated Sample samples = 2; }
message Label { string name = 1; string value = 2; }
message Sample { double value = 1; int64 timestamp = 2; }
`)
  .root.lookupType('WriteRequest');

/** A `prometheus.WriteRequest` of remote write 1.0, not compressed. */
export function writeRequestOf(samples: readonly Sample[]): Uint8Array {
  const timeseries = samples.map(({ labels, time, value }) => ({
    labels: labels.map(([name, text]) => ({ name, value: text })),
    samples: [{ timestamp: time * 1000, value }],
  }));
  return WriteRequest.encode(WriteRequest.fromObject({ timeseries })).finish();
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
    isWhole: (answer) => answer === '',
  };
}

function otlp(samples: readonly Sample[]): PostRequest {
  const attribute = (key: string, value: string) => ({ key, value: { stringValue: value } });
  const metrics = samples.map(({ labels, time, value }) => ({
    name: labelValue(labels, METRIC_NAME),
    gauge: { dataPoints: [{ timeUnixNano: `${time}000000000`, asDouble: value }] },
  }));
  const { labels } = samples[0]!;
  const attributes = [
    attribute('service.name', labelValue(labels, 'job')!),
    attribute('service.instance.id', labelValue(labels, 'instance')!),
  ];
  return {
    path: '/v1/metrics',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ resourceMetrics: [{ resource: { attributes }, scopeMetrics: [{ metrics }] }] }),
    isWhole: (answer) => answer === '{}',
  };
}
