import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from './problem';

/** How long a server may take to become ready, in ms. */
const READY_MS = 120_000;

/** Registers a process that must not outlive the stack. */
export type Adopt = (child: ChildProcess) => void;

/** Finds a free port of 127.0.0.1. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Problem('no free port on 127.0.0.1');
  return address.port;
}

/** Asks a server to stop, and waits until it has saved its state and exited. */
export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  await gone;
}

/**
 * Waits until a server is ready. An error means that it is not ready yet.
 *
 * @throws {Problem} when the time is up
 */
export async function untilReady(what: string, isReady: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + READY_MS;
  for (;;) {
    try {
      if (await isReady()) return;
    } catch (error) {
      if (error instanceof Problem) throw error;
      // Ignore the error: the server is not listening yet.
    }
    if (Date.now() > deadline) throw new Problem(`${what} was not ready within ${READY_MS / 1000} s`);
    await sleep(50);
  }
}
