import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { FeedTenant } from './cluster-feed';

/** What goes on in the cluster while a read begins. */
export type Phase = 'rest' | 'drain' | 'move';

export interface ReadersTask {
  readonly redisUrl: string;
  readonly awsPort: number;
  readonly tenant: FeedTenant;
  readonly names: readonly string[];
  readonly hosts: readonly string[];
  /** Readers side by side. */
  readonly count: number;
  /** Between two reads of a reader, ms. */
  readonly pauseMs: number;
}

export type ReadersCommand =
  | { readonly kind: 'begin'; readonly startMs: number }
  | { readonly kind: 'appended'; readonly at: number }
  | { readonly kind: 'phase'; readonly phase: Phase }
  | { readonly kind: 'stop' };

export interface ReadersFindings {
  /** Reads that were refused or lacked something. */
  readonly errors: string[];
  readonly readMs: Record<Phase, number[]>;
  /** How often the governor held a call back. */
  readonly waits: Record<Phase, number>;
}

/** Readers of a {@link ClusterFeed} in a process of their own, as query has, so that their times are not the flusher's. */
export class ClusterReaders {
  private constructor(private readonly child: ChildProcess) {}

  static async start(task: ReadersTask): Promise<ClusterReaders> {
    const child = fork(join(__dirname, 'cluster-readers-process.ts'), [JSON.stringify(task)], {
      execArgv: ['--import', 'tsx'],
    });
    await once(child, 'message');
    return new ClusterReaders(child);
  }

  /** Begins to read a feed whose first round was appended. */
  begin(startMs: number): void {
    this.send({ kind: 'begin', startMs });
  }

  /** From now on reads must find the round `at`. */
  appended(at: number): void {
    this.send({ kind: 'appended', at });
  }

  phase(phase: Phase): void {
    this.send({ kind: 'phase', phase });
  }

  async stop(): Promise<ReadersFindings> {
    const answered = once(this.child, 'message');
    this.send({ kind: 'stop' });
    const [findings] = await answered;
    return findings as ReadersFindings;
  }

  end(): void {
    this.child.kill();
  }

  private send(command: ReadersCommand): void {
    this.child.send(command);
  }
}
