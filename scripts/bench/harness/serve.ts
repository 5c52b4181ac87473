/**
 * Handles a benchmark's messages in a worker (worker.ts) until the benchmark ends. If handling a message fails, the
 * worker ends.
 *
 * @param handle returns the response; undefined becomes an empty object
 * @param ready first report of the worker
 */
export function serve<Message>(handle: (message: Message) => unknown, ready: object = {}): void {
  process.on('message', (message: Message) => {
    (async () => handle(message))().then(
      (response) => process.send!(response ?? {}),
      (error: Error) => {
        process.stderr.write(`${error.stack}\n`);
        process.exit(1);
      },
    );
  });
  // Exit explicitly, because open connections would keep the process alive.
  process.on('disconnect', () => process.exit());
  process.send!(ready);
}
