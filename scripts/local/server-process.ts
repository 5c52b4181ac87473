import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from './problem';

/** How long a server may take to become ready, in ms. */
const READY_MS = 120_000;

/** Registers a process that must not outlive the stack. */
export type Adopt = (child: ChildProcess) => void;

/**
 * The first port to choose from, and the number of ports. The range lies below the ports that Linux and macOS assign to
 * outgoing connections, and to servers that listen on port 0.
 */
const [FIRST_PORT, PORTS] = [10_000, 22_768];
/** Number of ports between the first choices of two processes whose ids are consecutive. */
const PORTS_EACH = 8;
let chosen = 0;

/**
 * Finds a free port of 127.0.0.1. Until a server listens at the port, other processes rarely get it, since processes
 * that run at the same time begin at different ports.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + ((process.pid * PORTS_EACH + chosen++) % PORTS);
    const server = createServer().listen(port, '127.0.0.1');
    try {
      await once(server, 'listening');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') continue;
      throw error;
    }
    server.close();
    await once(server, 'close');
    return port;
  }
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
