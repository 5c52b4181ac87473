import { createHash } from 'node:crypto';
import { Random } from '../faults/random';
import { firstIndex } from './binary-search';

/** An action that runs at a virtual time. */
export interface Task {
  readonly atMs: number;
  /** Decides the order of tasks that are due at the same time. */
  readonly tie: number;
  readonly run: () => unknown;
  isCancelled: boolean;
}

/**
 * A virtual clock, and the tasks that wait for it. Tasks run one at a time, and the time jumps from one task to the
 * next. The seed decides the order of tasks that are due at the same time.
 */
export class Scheduler {
  readonly random: Random;
  private readonly ties: Random;
  /** Tasks that wait, the next one last. */
  private readonly queue: Task[] = [];
  private readonly hash = createHash('sha256');
  private current: number;
  private ran = 0;

  /** @param onTrace called with each line of the trace */
  constructor(
    seed: number,
    startMs: number,
    private readonly onTrace?: (line: string) => void,
  ) {
    this.random = new Random(seed);
    this.ties = this.random.fork();
    this.current = startMs;
  }

  get nowMs(): number {
    return this.current;
  }

  /** Number of tasks that have run. */
  get tasks(): number {
    return this.ran;
  }

  /** Adds a line to the trace: the current time, and what happened. */
  trace(what: string): void {
    const line = `${this.current} ${what}\n`;
    this.hash.update(line);
    this.onTrace?.(line);
  }

  /** Ends the trace, and returns its digest. Two runs with the same digest did the same things. */
  digest(): string {
    return this.hash.digest('hex');
  }

  at(atMs: number, run: () => unknown): Task {
    const task = {
      atMs: Math.max(this.current, Math.ceil(atMs)),
      tie: this.ties.next(),
      run,
      isCancelled: false,
    };
    const { queue } = this;
    queue.splice(
      firstIndex(0, queue.length, (i) => isBefore(queue[i]!, task)),
      0,
      task,
    );
    return task;
  }

  after(ms: number, run: () => unknown): Task {
    return this.at(this.current + ms, run);
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve));
  }

  /** Runs tasks until a promise is settled; one of the tasks must settle it. */
  async runUntil<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false;
    const settle = () => {
      isSettled = true;
    };
    promise.then(settle, settle);
    await idle();
    while (!isSettled) {
      const task = this.queue.pop();
      if (task === undefined)
        throw new Error(`at ${new Date(this.current).toISOString()} nothing is left to run`);
      if (task.isCancelled) continue;
      this.current = task.atMs;
      this.ran++;
      const result = task.run();
      if (result instanceof Promise) await result;
      await idle();
    }
    return promise;
  }
}

function isBefore(a: Task, b: Task): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.tie < b.tie);
}

/** Resolves once no promise or stream can proceed without a further task. */
function idle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
