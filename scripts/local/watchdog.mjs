// Outlives the local stack until the stack's servers have stopped. Over a pipe, the stack reports the processes that it
// starts (`+pid`) and those that have ended (`-pid`). When the pipe closes, for whatever reason, the watchdog stops the
// remaining processes in order. It also removes the data directory of an ephemeral stack.
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [ephemeralDir] = process.argv.slice(2);

/** Time that a server gets to save its state, in ms. */
const PATIENCE_MS = 120_000;
const pids = new Set();

const signal = (pid, name) => {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false;
  }
};

process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});
createInterface({ input: process.stdin })
  .on('line', (line) => {
    const pid = Number(line.slice(1));
    if (line.startsWith('+')) pids.add(pid);
    else pids.delete(pid);
  })
  .on('close', () => {
    const left = [...pids].filter((pid) => signal(pid, 'SIGTERM'));
    const deadline = Date.now() + PATIENCE_MS;
    const wait = setInterval(() => {
      const alive = left.filter((pid) => signal(pid, 0));
      if (alive.length > 0 && Date.now() < deadline) return;
      for (const pid of alive) signal(pid, 'SIGKILL');
      clearInterval(wait);
      if (ephemeralDir !== undefined)
        rmSync(ephemeralDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    }, 100);
  });
