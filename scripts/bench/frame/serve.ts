/**
 * Serves a benchmark's messages in a worker (worker.ts), and ends with the benchmark. A message that fails ends the worker.
 *
 * @param handle returns the answer; undefined becomes an empty object
 * @param ready what the worker reports at first
 */
export function serve<Message>(handle: (message: Message) => unknown, ready: object = {}): void {
  process.on('message', (message: Message) => {
    (async () => handle(message))().then(
      (answer) => process.send!(answer ?? {}),
      (error: Error) => {
        process.stderr.write(`${error.stack}\n`);
        process.exit(1);
      },
    );
  });
  // Open connections would keep the process alive.
  process.on('disconnect', () => process.exit());
  process.send!(ready);
}
