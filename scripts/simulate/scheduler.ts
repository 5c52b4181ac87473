import { createHash } from 'node:crypto';
import { Random } from '../faults/random';

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
  private readonly heap: Task[] = [];
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
    this.push(task);
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
      const task = this.pop();
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

  private push(task: Task): void {
    const { heap } = this;
    let i = heap.push(task) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!isBefore(task, heap[parent]!)) break;
      heap[i] = heap[parent]!;
      i = parent;
    }
    heap[i] = task;
  }

  private pop(): Task | undefined {
    const { heap } = this;
    const [first] = heap;
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, last)) break;
      heap[i] = heap[child]!;
      i = child;
    }
    heap[i] = last;
    return first;
  }
}

function isBefore(a: Task, b: Task): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.tie < b.tie);
}

/** Resolves once no promise or stream can proceed without a further task. */
function idle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
