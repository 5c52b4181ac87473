import { closeSync, openSync, readSync } from 'node:fs';
import type { Units } from '../../../shared/cost/measured-units';
import { type FunctionName, METRIC_DIMENSION, UNITS } from '../../../shared/platform/names';

/** Billed units of a function. */
export interface Metered {
  readonly invocations: number;
  readonly units: Units;
}

/** Reads the functions' own metering from the log lines that CloudWatch turns into metrics. */
export class MeterLog {
  private readonly file: number;
  private rest = '';
  private readonly sums = new Map<string, { invocations: number; units: Units }>();

  constructor(path: string) {
    // Create the file now. Otherwise it would not exist until a function writes to it.
    this.file = openSync(path, 'a+');
  }

  /** Returns the units used since the last call for the same function. */
  take(name: FunctionName): Metered {
    const taken = this.peek(name);
    this.sums.delete(name);
    return taken;
  }

  peek(name: FunctionName): Metered {
    this.read();
    return this.sums.get(name) ?? NOTHING;
  }

  private read(): void {
    const chunk = Buffer.alloc(1 << 20);
    for (;;) {
      const size = readSync(this.file, chunk, 0, chunk.length, null);
      if (size === 0) return;
      const lines = (this.rest + chunk.toString('utf8', 0, size)).split('\n');
      this.rest = lines.pop()!;
      for (const line of lines) if (line.includes('"FunctionMbMs"')) this.add(JSON.parse(line));
    }
  }

  private add(line: Record<string, unknown>): void {
    const name = String(line[METRIC_DIMENSION]).split('-').at(-1)!;
    const sum = this.sums.get(name) ?? { invocations: 0, units: {} };
    this.sums.set(name, sum);
    sum.invocations += [line.FunctionMbMs].flat().length;
    for (const unit of UNITS)
      for (const value of [line[unit] ?? []].flat()) sum.units[unit] = (sum.units[unit] ?? 0) + Number(value);
  }

  close(): void {
    closeSync(this.file);
  }
}

const NOTHING: Metered = { invocations: 0, units: {} };
