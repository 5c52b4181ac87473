import type { ChildProcess } from 'node:child_process';

/** Addresses of the stores and of Lambda's API. */
export interface StoreAddresses {
  readonly redisUrl: string;
  readonly awsUrl: string;
  readonly lambdaUrl: string;
}

/** One function process's connections: proxies in place of the stores, and a clock. */
export interface Wiring {
  readonly addresses: StoreAddresses;
  /** Added to the process's clock. */
  readonly clockSkewMs: number;
  /** Called with the process once it has started. */
  attach(child: ChildProcess): void;
  /** Called when the process has ended. */
  close(): void;
}

/** How a mapping delivers a batch. */
export interface Delivery {
  /** At least 1. */
  readonly times: number;
  /** Before the first delivery; other shards go on meanwhile. */
  readonly delayMs: number;
  /** To two instances at a time. */
  readonly isTwiceAtOnce?: boolean;
}

/** Faults between functions, stores and the stream. */
export interface HostFaults {
  wire(functionName: string, addresses: StoreAddresses): Promise<Wiring>;
  delivery(functionName: string, shardId: string): Delivery;
}
