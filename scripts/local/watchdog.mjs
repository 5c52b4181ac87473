// Outlives the local stack by as much as it takes to stop its servers: reads pids, one a line, from the pipe that the
// stack holds; when that closes, however the stack ended, what still runs is stopped in order.
import { createInterface } from 'node:readline';

const pids = new Set();
const isAlive = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});
createInterface({ input: process.stdin })
  .on('line', (line) => pids.add(Number(line)))
  .on('close', () => {
    for (const pid of pids) if (isAlive(pid)) process.kill(pid, 'SIGTERM');
    const deadline = Date.now() + 20_000;
    const wait = setInterval(() => {
      const left = [...pids].filter(isAlive);
      if (left.length > 0 && Date.now() < deadline) return;
      for (const pid of left) process.kill(pid, 'SIGKILL');
      clearInterval(wait);
    }, 100);
  });
