import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LOCAL_TENANT } from '../../scripts/local/bootstrap';
import { queryDependencies } from '../../shared/compose/query';
import { labelsKey } from '../../shared/model/labels';
import type { Matcher } from '../../shared/model/matcher';
import type { TimeRange } from '../../shared/model/selection';
import { functionName } from '../../shared/platform/names';
import { Querier } from '../../shared/query/select';
import type { LocalStack } from './local-stack';

/**
 * Samples by series and time. Each value is given as its eight bytes in hex, most significant first, because JSON
 * cannot represent the bits of a NaN.
 */
export type SampleBits = ReadonlyMap<string, ReadonlyMap<number, string>>;

/** Reads a local stack's samples in this process as the query function does, and returns their bits. */
export async function readBits(
  stack: LocalStack,
  matchers: readonly Matcher[],
  range: TimeRange,
): Promise<SampleBits> {
  // A function has a process only once it has been called, so call it first.
  await fetch(new URL('/api/v1/series?limit=1', stack.url), { headers: { 'x-api-key': stack.apiKey } });
  Object.assign(process.env, environmentOf(stack, 'query'));
  const { dependencies } = queryDependencies();
  const tenant = await dependencies.tenants.get(LOCAL_TENANT);
  try {
    const { blocks } = await new Querier(dependencies, tenant!).select(matchers, range);
    const bits = new Map<string, Map<number, string>>();
    for (const { block, layout } of blocks)
      block.columns.forEach(({ rows, values }, i) => {
        const words = new BigUint64Array(values.buffer, values.byteOffset, values.length);
        const samples = new Map<number, string>();
        words.forEach((word, v) => {
          samples.set(block.timestamps[rows?.[v] ?? v]!, word.toString(16).padStart(16, '0'));
        });
        if (samples.size > 0) bits.set(labelsKey(layout.series[i]!), samples);
      });
    return bits;
  } finally {
    await dependencies.hot.close();
  }
}

/** The environment of a function of the stack. */
function environmentOf(stack: LocalStack, name: 'query'): Record<string, string> {
  const { functions } = JSON.parse(readFileSync(join(stack.dataDir, 'pids.json'), 'utf8')) as {
    functions: number[];
  };
  for (const pid of functions) {
    let variables: [string, string][];
    try {
      variables = readFileSync(`/proc/${pid}/environ`, 'utf8')
        .split('\0')
        .filter((line) => line.includes('='))
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]);
    } catch {
      // The process has ended.
      continue;
    }
    const environment = Object.fromEntries(variables);
    if (environment.AWS_LAMBDA_FUNCTION_NAME === functionName('local', name)) return environment;
  }
  throw new Error(`no process of ${name} is running`);
}
