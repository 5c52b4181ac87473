import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** An exporter of the SDK, and its destination. */
export interface SdkOptions {
  readonly url: string;
  readonly apiKey: string;
  readonly encoding: 'protobuf' | 'json';
  readonly compression: 'none' | 'gzip';
  readonly temporality: 'cumulative' | 'delta';
  /** The resource's attribute `service.instance.id`; its `service.name` is `sdk`. */
  readonly instance: string;
}

/**
 * Exports gauges, sums and histograms once with OpenTelemetry's SDK. With delta temporality, exports only a gauge and a
 * sum.
 *
 * @returns warnings and errors that the SDK has logged
 */
export async function exportBySdk(options: SdkOptions): Promise<string[]> {
  const script = join(__dirname, 'otel-sdk-process.ts');
  const args = ['--import', 'tsx', script, JSON.stringify(options)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as string[];
}
