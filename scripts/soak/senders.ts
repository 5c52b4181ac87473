import {
  type Labels,
  labelsOf,
  labelValue,
  METRIC_NAME,
  metricOf,
  sourceOf,
} from '../../shared/model/labels';
import type { Random } from '../faults/random';
import { ENCODINGS, type PostRequest } from './encodings';
import type { Sample } from './ledger';

/** Posts the series of one host or target. */
export interface Sender {
  readonly series: readonly Labels[];
  /** Divides samples into requests; may leave some out. */
  cut(samples: readonly Sample[], random: Random): readonly (readonly Sample[])[];
  encode(samples: readonly Sample[]): PostRequest;
}

/** How senders divide series among sources, and samples among requests. */
export const SHAPES = {
  dense: 'Mackerel, all metrics of a host in one request',
  telegraf: 'line protocol, measurements of three fields, a host in one request',
  cut: 'line protocol, a random half of a host, requests cut at random places',
  lone: 'line protocol, one series a source, many sources in one request',
  prometheus: 'remote write, the series of a target hashed over two requests',
  otlp: 'OTLP as JSON, a resource in one request',
  mixed: 'the series of a host in turns by every protocol but Mackerel, requests cut at random places',
} as const;
export type Shape = keyof typeof SHAPES;

/** Fields of a measurement in the shape `telegraf`. */
const FIELDS = 3;

/** The encodings of the shape `mixed`. */
const MIXED = [
  ENCODINGS.lines,
  ENCODINGS.remoteWrite,
  ENCODINGS.otlpProtobuf,
  ENCODINGS.remoteWrite2,
  ENCODINGS.otlpJson,
];

const whole = (samples: readonly Sample[]) => [samples];

/**
 * Makes a sender of the given shape.
 *
 * @param host id of the sender's host; only `dense` needs it to be registered
 * @param count number of series
 */
export function senderOf(shape: Shape, host: string, count: number): Sender {
  const all = Array.from({ length: count }, (_, i) => i);
  const named = (labels: Labels, name: (i: number) => string) => all.map((i) => metricOf(labels, name(i)));
  const target = labelsOf(['instance', host], ['job', 'soak']);
  switch (shape) {
    case 'dense':
      return {
        series: named(sourceOf.host(host), (i) => `custom.soak.m${i}`),
        cut: whole,
        encode: ENCODINGS.mackerel,
      };
    case 'telegraf': {
      const name = (i: number) => `m${Math.floor(i / FIELDS)}_f${i % FIELDS}`;
      return {
        series: named(labelsOf(['host', host], ['region', 'r']), name),
        cut: whole,
        encode: ENCODINGS.lines,
      };
    }
    case 'cut':
      return {
        series: named(sourceOf.host(host), (i) => `agent_f${i}`),
        cut: cutAnywhere,
        encode: ENCODINGS.lines,
      };
    case 'lone': {
      const series = all.map((i) => metricOf([['sensor', `${host}.${i}`]], 'probe_value'));
      return { series, cut: whole, encode: ENCODINGS.lines };
    }
    case 'prometheus': {
      const series = all.map((i) => labelsOf([METRIC_NAME, `soak_${i % 5}`], ['mode', `${i}`], ...target));
      return { series, cut: hashed, encode: ENCODINGS.remoteWrite };
    }
    case 'otlp':
      return { series: named(target, (i) => `soak_m${i}`), cut: whole, encode: ENCODINGS.otlpJson };
    case 'mixed': {
      const series = all.map((i) => metricOf(labelsOf(['disk', `d${i % 3}`], ['host', host]), `mixed_f${i}`));
      let turns = 0;
      return {
        series,
        cut: cutAnywhere,
        encode: (samples) => MIXED[turns++ % MIXED.length]!(samples),
      };
    }
  }
}

function cutAnywhere(samples: readonly Sample[], random: Random): Sample[][] {
  const half = samples.filter(() => random.chance(0.5));
  const at = random.integer(0, half.length);
  return [half.slice(0, at), half.slice(at)].filter((part) => part.length > 0);
}

/** Divides samples between two requests by a fixed hash of the series, as Prometheus does with its shards. */
function hashed(samples: readonly Sample[]): Sample[][] {
  const isFirst = ({ labels }: Sample) => Number(labelValue(labels, 'mode')) % 3 === 0;
  return [samples.filter(isFirst), samples.filter((sample) => !isFirst(sample))].filter(
    (part) => part.length > 0,
  );
}
