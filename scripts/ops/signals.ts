/** Exit codes of a command that a signal has ended, by shell convention. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Runs `work`. If SIGINT (Ctrl-C) or SIGTERM arrives before the work has ended, runs `onStop`, and ends the
 * process with the exit code of the signal.
 */
export async function interruptible<T>(
  onStop: () => void | Promise<void>,
  work: () => Promise<T>,
): Promise<T> {
  const stop = async (signal: keyof typeof EXIT_CODES) => {
    try {
      await onStop();
    } catch (error) {
      console.error((error as Error).message);
    }
    process.exit(EXIT_CODES[signal]);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  try {
    return await work();
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, stop);
  }
}

/**
 * Runs work that a function of the stack does slice by slice. If Ctrl-C ends the command, the command prints the last
 * line of progress, and how to go on.
 *
 * @param goOn sentences that say how to go on
 */
export function interruptibleSlices<T>(
  goOn: string,
  work: (progress: (line: string) => void) => Promise<T>,
): Promise<T> {
  let last = 'nothing reported yet';
  return interruptible(
    () => console.error(`interrupted. Last state: ${last}. ${goOn}`),
    () =>
      work((line) => {
        last = line;
        console.error(line);
      }),
  );
}
