import type { ChildProcess } from 'node:child_process';

/** How a function reaches the stores and Lambda's API. */
export interface StoreAddresses {
  readonly redisUrl: string;
  readonly awsUrl: string;
  readonly lambdaUrl: string;
}

/** What one process of a function is given in place of the stores' own addresses. */
export interface Wiring {
  readonly addresses: StoreAddresses;
  /** By how much the process' clock is wrong. */
  readonly clockSkewMs: number;
  /** Told the process, once it is there. */
  attach(child: ChildProcess): void;
  /** When the process has ended. */
  close(): void;
}

/** How a mapping delivers a batch. */
export interface Delivery {
  /** At least once. */
  readonly times: number;
  /** Before the first time, while other shards' batches go on. */
  readonly delayMs: number;
}

/** Lets things go wrong between functions, stores and the stream. */
export interface HostFaults {
  wire(functionName: string, addresses: StoreAddresses): Promise<Wiring>;
  delivery(functionName: string, shardId: string): Delivery;
}
