/**
 * Takes a body as post does, in a process of its own, and prints the cost. The arguments are the body's encoding and
 * its file.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Encoding } from '../unit/protocol/hostile-bodies';
import { reduceHostileRecords, takeHostileBody } from './hostile-body';

export interface BodyCost {
  readonly outcome: string;
  /** Peak of resident memory, minus resident memory before the body was taken. */
  readonly peakBytes: number;
  readonly cpuSeconds: number;
  /** CPU time of the ingester's work on the body's records. */
  readonly ingesterSeconds: number;
}

void take(...(process.argv.slice(2) as [Encoding, string]));

async function take(encoding: Encoding, file: string): Promise<void> {
  const body = readFileSync(file);
  // Reset the peak memory of the process. @see proc(5)
  writeFileSync('/proc/self/clear_refs', '5');
  const restBytes = process.memoryUsage().rss;
  const before = process.cpuUsage();
  const { outcome, records } = await takeHostileBody(encoding, body);
  const { user, system } = process.cpuUsage(before);
  const peakKb = Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))![1]);
  const cost: BodyCost = {
    outcome,
    peakBytes: peakKb * 1024 - restBytes,
    cpuSeconds: (user + system) / 1e6,
    ingesterSeconds: reduceHostileRecords(records),
  };
  process.stdout.write(JSON.stringify(cost));
}
