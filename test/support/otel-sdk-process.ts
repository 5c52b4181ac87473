/**
 * An application that exports its metrics once with OpenTelemetry's SDK. Prints what the SDK has logged, as a JSON
 * array. It runs in a separate process, because the SDK imports modules in a way that jest does not allow.
 *
 *     otel-sdk-process.ts <options as JSON>
 */
import { DiagLogLevel, diag, type Meter } from '@opentelemetry/api';
import { OTLPMetricExporter as JsonExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter as ProtobufExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import type { SdkOptions } from './otel-sdk';

const { url, apiKey, encoding, compression, temporality, instance } = JSON.parse(
  process.argv[2]!,
) as SdkOptions;

const logged: string[] = [];
const log = (...parts: unknown[]) => {
  logged.push(parts.map(String).join(' '));
};

function measure(meter: Meter): void {
  meter.createGauge('temperature', { unit: 'Cel' }).record(-1.5, { room: 'a' });
  meter.createCounter('requests').add(3, { path: '/' });
  if (temporality === 'delta') return;
  meter.createUpDownCounter('connections').add(-2);
  const advice = { explicitBucketBoundaries: [0.5, 10] };
  const latency = meter.createHistogram('latency', { unit: 's', advice });
  for (const value of [0.25, 1, 20]) latency.record(value);
}

async function exportOnce(): Promise<void> {
  const options = {
    url: `${url}/v1/metrics`,
    headers: { authorization: `Bearer ${apiKey}` },
    temporalityPreference:
      temporality === 'delta' ? AggregationTemporality.DELTA : AggregationTemporality.CUMULATIVE,
    compression: compression as NonNullable<ConstructorParameters<typeof ProtobufExporter>[0]>['compression'],
  };
  const exporter = encoding === 'json' ? new JsonExporter(options) : new ProtobufExporter(options);
  // The interval never ends. The measurements are exported once, at shutdown.
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const resource = resourceFromAttributes({
    'service.name': 'sdk',
    'service.instance.id': instance,
    'host.name': 'web1',
  });
  const provider = new MeterProvider({ resource, readers: [reader] });
  measure(provider.getMeter('test'));
  await provider.shutdown();
}

diag.setLogger(
  { error: log, warn: log, info: () => {}, debug: () => {}, verbose: () => {} },
  { logLevel: DiagLogLevel.WARN },
);
exportOnce().then(
  () => process.stdout.write(JSON.stringify(logged)),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
