import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { FeedTenant } from './cluster-feed';

/** What the cluster is doing when a read begins. */
export type Phase = 'rest' | 'drain' | 'move';

export interface ReadersTask {
  readonly redisUrl: string;
  readonly awsPort: number;
  readonly tenant: FeedTenant;
  readonly names: readonly string[];
  readonly hosts: readonly string[];
  /** Number of concurrent readers. */
  readonly count: number;
  /** Pause between two reads of a reader, in ms. */
  readonly pauseMs: number;
}

export type ReadersCommand =
  | { readonly kind: 'begin'; readonly startMs: number }
  | { readonly kind: 'appended'; readonly at: number }
  | { readonly kind: 'phase'; readonly phase: Phase }
  | { readonly kind: 'stop' };

export interface ReadersFindings {
  /** Descriptions of reads that were rejected or lacked samples. */
  readonly errors: string[];
  readonly readMs: Record<Phase, number[]>;
  /** Number of times that the governor made a call wait. */
  readonly waits: Record<Phase, number>;
}

/**
 * Readers of a {@link ClusterFeed}. They run in a separate process, as the query function does, so that the flusher's
 * work does not slow them down.
 */
export class ClusterReaders {
  private constructor(private readonly child: ChildProcess) {}

  static async start(task: ReadersTask): Promise<ClusterReaders> {
    const child = fork(join(__dirname, 'cluster-readers-process.ts'), [JSON.stringify(task)], {
      execArgv: ['--import', 'tsx'],
    });
    await once(child, 'message');
    return new ClusterReaders(child);
  }

  /** Begins to read a feed whose first round has been appended. */
  begin(startMs: number): void {
    this.send({ kind: 'begin', startMs });
  }

  /** Tells the readers that round `at` was appended, so that reads must find it from now on. */
  appended(at: number): void {
    this.send({ kind: 'appended', at });
  }

  /**
   * Tells the readers what the cluster does from now on. Resolves when they know; for `rest`, once the governor no
   * longer makes reads wait.
   */
  async phase(phase: Phase): Promise<void> {
    const known = this.told((message) => message === phase);
    this.send({ kind: 'phase', phase });
    await known;
  }

  async stop(): Promise<ReadersFindings> {
    const found = this.told((message) => typeof message === 'object');
    this.send({ kind: 'stop' });
    return (await found) as ReadersFindings;
  }

  end(): void {
    this.child.kill();
  }

  /** Waits for a message. Several callers may wait at the same time. */
  private told(isMine: (message: unknown) => boolean): Promise<unknown> {
    return new Promise((resolve) => {
      const look = (message: unknown) => {
        if (!isMine(message)) return;
        this.child.off('message', look);
        resolve(message);
      };
      this.child.on('message', look);
    });
  }

  private send(command: ReadersCommand): void {
    this.child.send(command);
  }
}
