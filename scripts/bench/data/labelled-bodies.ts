import { snappyCompress } from 'hysnappy';
import { ByteWriter } from '../../../shared/model/bytes';
import type { Labels } from '../../../shared/model/labels';
import { writeSeries } from '../../../shared/protocol/prometheus/time-series';
import { writeMessage } from '../../../shared/protocol/wire';
import { makeAgentData } from './agent-data';

export type LabelledProtocol = 'remote-write' | 'otlp';

/** Number of minutes after which the values repeat. */
const MINUTES = 120;
/** Maximum number of samples per request: Prometheus' default for `max_samples_per_send`. */
const SAMPLES_A_REQUEST = 2_000;
/** Number of queues from which Prometheus sends. The queue of a series is the series' number modulo this. */
const QUEUES = 4;

/** The labels of a target that Prometheus scrapes. */
export function sourceOfTarget(instance: string): Labels {
  return [
    ['instance', instance],
    ['job', 'kubernetes-nodes'],
  ];
}

/** Request bodies of a Prometheus or Collector that scrapes many targets. Each series has ten labels. */
export class LabelledBodies {
  private readonly names: readonly string[];
  private readonly values: readonly (readonly number[])[];
  /** Number of samples in the bodies so far. */
  samples = 0;

  /**
   * @param metrics number of metrics of each target
   */
  constructor(metrics: number) {
    const data = makeAgentData(MINUTES);
    this.names = Array.from({ length: metrics }, (_, i) => {
      const name = data[i % data.length]!.labels.__name__!.replaceAll('.', '_');
      return i < data.length ? name : `${name}_${Math.floor(i / data.length)}`;
    });
    this.values = this.names.map((_, i) => data[i % data.length]!.values);
  }

  /**
   * Yields the requests of one minute. Targets are scraped one at a time, and a request ends after 2,000 samples. The
   * boundaries of requests differ from minute to minute, because a minute's remaining samples go into the first request
   * of the next minute.
   */
  *minute(
    protocol: LabelledProtocol,
    targets: readonly string[],
    minute: number,
    timeMs: number,
  ): Generator<Uint8Array> {
    if (protocol === 'remote-write')
      for (let queue = 0; queue < QUEUES; queue++) yield* this.queue(targets, minute, timeMs, queue);
    else yield* this.batches(targets, minute, timeMs);
  }

  private *queue(
    targets: readonly string[],
    minute: number,
    timeMs: number,
    queue: number,
  ): Generator<Uint8Array> {
    let body = new ByteWriter(1_000_000);
    let count = leftOver(minute);
    for (const [t, target] of targets.entries()) {
      const at = timeMs + ((t * 7919) % 50_000);
      for (
        let m = (queue + (QUEUES - 1) * t * this.names.length) % QUEUES;
        m < this.names.length;
        m += QUEUES
      ) {
        const value = this.valueOf(m, minute + t);
        writeSeries(body, [
          {
            labels: labelsOfSeries(target, this.names[m]!, m),
            timestamps: Float64Array.of(at),
            values: Float64Array.of(value),
          },
        ]);
        this.samples++;
        if (++count < SAMPLES_A_REQUEST) continue;
        yield snappyCompress(body.finish());
        body = new ByteWriter(1_000_000);
        count = 0;
      }
    }
    if (body.length > 0) yield snappyCompress(body.finish());
  }

  /** Yields a Collector's batches. Each resource has the metrics of one target, with one point each. */
  private *batches(targets: readonly string[], minute: number, timeMs: number): Generator<Uint8Array> {
    let body = new ByteWriter(1_000_000);
    let count = leftOver(minute);
    for (const [t, target] of targets.entries()) {
      const nanoseconds = Buffer.alloc(8);
      nanoseconds.writeBigUInt64LE(BigInt(timeMs + ((t * 7919) % 50_000)) * 1_000_000n);
      let metrics = new ByteWriter(100_000);
      const close = () => {
        writeMessage(body, 1, (resourceMetrics) => {
          writeMessage(resourceMetrics, 1, (resource) => {
            writeAttribute(resource, 1, 'service.name', 'kubernetes-nodes');
            writeAttribute(resource, 1, 'service.instance.id', target);
          });
          writeMessage(resourceMetrics, 2, (scope) => scope.bytes(metrics.finish()));
        });
        metrics = new ByteWriter(100_000);
      };
      let open = 0;
      for (let m = 0; m < this.names.length; m++) {
        writeMessage(metrics, 2, (metric) => {
          metric.byte(0x0a).text(this.names[m]!);
          writeMessage(metric, 5, (gauge) =>
            writeMessage(gauge, 1, (point) => {
              const value = new Uint8Array(Float64Array.of(this.valueOf(m, minute + t)).buffer);
              point.byte(0x19).bytes(nanoseconds).byte(0x21).bytes(value);
              for (const [key, text] of labelsOfSeries(target, this.names[m]!, m))
                if (!['__name__', 'instance', 'job'].includes(key)) writeAttribute(point, 7, key, text);
            }),
          );
        });
        this.samples++;
        open++;
        if (++count < SAMPLES_A_REQUEST) continue;
        close();
        open = 0;
        yield body.finish();
        body = new ByteWriter(1_000_000);
        count = 0;
      }
      if (open > 0) close();
    }
    if (body.length > 0) yield body.finish();
  }

  private valueOf(metric: number, minute: number): number {
    return this.values[metric]![minute % MINUTES]!;
  }
}

/** Returns how many samples of the previous minute go into this minute's first request. */
function leftOver(minute: number): number {
  return (minute * 619) % SAMPLES_A_REQUEST;
}

function labelsOfSeries(target: string, name: string, metric: number): Labels {
  return [
    ['__name__', name],
    ['cluster', 'production-eu-west-1'],
    ['container', `container-${metric % 7}`],
    ['endpoint', 'metrics'],
    ['instance', target],
    ['job', 'kubernetes-nodes'],
    ['namespace', `namespace-${metric % 5}`],
    ['pod', `pod-${target}-${metric % 10}`],
    ['prometheus', 'monitoring/k8s'],
    ['service', `service-${metric % 11}`],
  ];
}

/** Writes a KeyValue with a string value. */
function writeAttribute(out: ByteWriter, field: number, key: string, value: string): void {
  writeMessage(out, field, (pair) => {
    writeMessage(pair.byte(0x0a).text(key), 2, (any) => any.byte(0x0a).text(value));
  });
}
