import { startStack } from '../../local/stack';
import { Functions } from '../../ops/invoke';
import { TenantApi } from '../../ops/tenant-api';
import type { Harness } from './harness';

export type BenchStack = Awaited<ReturnType<typeof startBenchStack>>;

/** Settings that lift the limits a benchmark would reach. */
export const UNLIMITED = {
  maxSamplesPerMinute: '1000000000',
  maxSeries: '100000000',
  maxHosts: '1000000',
  requestsPerSecond: '100000',
  requestBurst: '100000',
};

/**
 * Starts the local stack as `npm start` does, with clients for its functions and its first tenant. It ends with the
 * run.
 *
 * @param settings settings that override those of the local stage
 * @param unscheduled kinds of functions whose schedules are not run
 */
export async function startBenchStack(
  harness: Harness,
  settings: Readonly<Record<string, string>> = {},
  report: (line: string) => void = () => {},
  unscheduled: readonly string[] = [],
) {
  const stack = await startStack({ port: 0, dataDir: undefined, settings, report, unscheduled });
  harness.atEnd(() => stack.stop());
  const { url, apiKey } = stack.addresses;
  const functions = new Functions(url);
  harness.atEnd(() => functions.close());
  return { stack, functions, api: new TenantApi(url, apiKey) };
}
