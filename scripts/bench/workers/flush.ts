/**
 * The flusher of `bench flush`: the real handler, bundled as deployed, whose SDK talks to the stand-in for
 * AWS. It records what the SDK sends, and counts it at the end.
 */
import type { Context } from 'aws-lambda';
import { type FlushResult, handler as flusher } from '../../../functions/flusher/handler';
import { type AwsCall, watchAws } from '../harness/aws-meter';
import { ownCpu } from '../harness/cpu';
import { serve } from '../harness/serve';
import { writeUnitsOfCall } from '../harness/write-units';

export interface FlushRun {
  readonly drain: true;
  /** Memory's clock in ms. */
  readonly before: number;
  readonly lane: number;
  readonly lanes: number;
}

export interface Flushed extends Pick<FlushResult, 'windows' | 'samples' | 'bytes'> {
  readonly startMs: number;
  readonly endMs: number;
  readonly cpuMs: number;
  /** Calls by operation. */
  readonly calls: Readonly<Record<string, { readonly calls: number; readonly writeUnits: number }>>;
}

const CONTEXT = { getRemainingTimeInMillis: () => 900_000 } as Context;

const made: AwsCall[] = [];
watchAws((call) => {
  made.push(call);
});

async function flush(run: FlushRun): Promise<Flushed> {
  made.length = 0;
  const startMs = Date.now();
  const cpu = ownCpu();
  const { windows, samples, bytes, remaining, failed } = await flusher(run, CONTEXT);
  const cpuMs = cpu();
  const endMs = Date.now();
  if (remaining + failed > 0) throw new Error(`${failed} group-windows failed, ${remaining} remain`);
  const calls: Record<string, { calls: number; writeUnits: number }> = {};
  for (const { operation, body } of made) {
    calls[operation] ??= { calls: 0, writeUnits: 0 };
    const of = calls[operation];
    const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
    of.calls++;
    of.writeUnits += writeUnitsOfCall(operation, JSON.parse(text));
  }
  return { windows, samples, bytes, startMs, endMs, cpuMs, calls };
}

serve(flush);
