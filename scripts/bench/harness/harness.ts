import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { interruptible } from '../../ops/signals';
import { lineOf } from './report';

/** Minimum time between two progress reports of a long piece of work, in ms. */
const REPORT_MS = 10_000;

/**
 * One run of a benchmark. It reports progress on stderr. At the end it stops everything that it started, in reverse
 * order.
 */
export class Harness {
  private readonly ends: (() => unknown)[] = [];
  private folder: string | undefined;
  private ending: Promise<void> | undefined;

  constructor(private readonly name: string) {}

  /** A temporary folder, removed at the end. */
  get dir(): string {
    if (this.folder === undefined) {
      const folder = mkdtempSync(join(tmpdir(), `bench-${this.name}-`));
      this.folder = folder;
      this.atEnd(() => rmSync(folder, { recursive: true, force: true }));
    }
    return this.folder;
  }

  /** Prints progress on stderr, because stdout is for the result. */
  readonly log = (line: string): void => {
    process.stderr.write(`${line}\n`);
  };

  /**
   * Returns a function to call after each part of a long piece of work. At most once in {@link REPORT_MS}, it reports
   * how many parts are done, and the time since the work began.
   *
   * @param what the parts, such as `days are archived`
   * @param total number of all parts; undefined if unknown
   */
  counter(what: string, total?: number): () => void {
    const beganMs = performance.now();
    let reportedMs = beganMs;
    let done = 0;
    return () => {
      done++;
      const nowMs = performance.now();
      if (nowMs - reportedMs < REPORT_MS) return;
      reportedMs = nowMs;
      const of = total === undefined ? '' : ` of ${total}`;
      this.log(`${done}${of} ${what} after ${Math.round((nowMs - beganMs) / 1000)} s`);
    };
  }

  /** Returns a function that appends a row to `rows` and reports it as progress. */
  adder<R extends object>(rows: R[]): (row: R) => void {
    return (row) => {
      rows.push(row);
      this.log(lineOf(row));
    };
  }

  /** Calls `end` when the run is over, successful or not. */
  atEnd(end: () => unknown): void {
    this.ends.push(end);
  }

  /** Runs a part of the benchmark in its own harness, which ends with the part. */
  async part<T>(work: (harness: Harness) => Promise<T>): Promise<T> {
    const part = new Harness(this.name);
    this.atEnd(() => part.end());
    try {
      return await work(part);
    } finally {
      await part.end();
    }
  }

  /**
   * Stops everything that the run has started.
   *
   * @throws the first error that occurred while stopping something; everything else is stopped nevertheless
   */
  end(): Promise<void> {
    this.ending ??= this.endAll();
    return this.ending;
  }

  private async endAll(): Promise<void> {
    const errors: unknown[] = [];
    for (const end of this.ends.reverse())
      try {
        await end();
      } catch (error) {
        errors.push(error);
      }
    if (errors.length > 0) throw errors[0];
  }
}

/**
 * Runs work in a harness. At the end it stops what the work started, even if the work fails or the process is
 * interrupted.
 */
export async function withHarness<T>(name: string, work: (harness: Harness) => Promise<T>): Promise<T> {
  const harness = new Harness(name);
  const end = () => harness.end();
  return interruptible(end, () => work(harness).finally(end));
}
