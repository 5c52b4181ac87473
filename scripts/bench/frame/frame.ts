import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lineOf } from './report';

/** One run of a benchmark. It reports progress on stderr, and ends what it started, the last first. */
export class Frame {
  private readonly ends: (() => unknown)[] = [];
  private folder: string | undefined;

  constructor(private readonly name: string) {}

  /** A folder that is removed at the end. */
  get dir(): string {
    if (this.folder === undefined) {
      const folder = mkdtempSync(join(tmpdir(), `bench-${this.name}-`));
      this.folder = folder;
      this.atEnd(() => rmSync(folder, { recursive: true, force: true }));
    }
    return this.folder;
  }

  /** Writes a line of progress: stdout is for the result. */
  readonly log = (line: string): void => {
    process.stderr.write(`${line}\n`);
  };

  /** Returns what adds a row to a result, and writes it as a line of progress. */
  adder<R extends object>(rows: R[]): (row: R) => void {
    return (row) => {
      rows.push(row);
      this.log(lineOf(row));
    };
  }

  /** Calls `end` when the run is over, whether it failed or not. */
  atEnd(end: () => unknown): void {
    this.ends.push(end);
  }

  /** Runs a part of the benchmark by a frame of its own, which ends with the part. */
  async part<T>(work: (frame: Frame) => Promise<T>): Promise<T> {
    return withFrame(this.name, work);
  }

  /** @throws the first error of what had to end; the others end all the same */
  async end(): Promise<void> {
    const errors: unknown[] = [];
    for (const end of this.ends.splice(0).reverse())
      try {
        await end();
      } catch (error) {
        errors.push(error);
      }
    if (errors.length > 0) throw errors[0];
  }
}

/** Runs work by a frame, and ends what it started, whether it fails or not. */
export async function withFrame<T>(name: string, work: (frame: Frame) => Promise<T>): Promise<T> {
  const frame = new Frame(name);
  try {
    return await work(frame);
  } finally {
    await frame.end();
  }
}
