import { createInterface } from 'node:readline/promises';
import { OperatorError } from './invoke';

/** Asks for confirmation of an irreversible action. */
export type Confirm = (what: string) => Promise<void>;

/**
 * Asks for confirmation on the terminal.
 *
 * @param what completes the sentence "this ..."
 * @throws {OperatorError} on any response but y or yes, and when stdin is not a terminal
 */
export const confirm: Confirm = (what) => confirmOn(process.stdin, process.stderr, what);

/** A stream that may be a terminal. */
type Terminal<T> = T & { readonly isTTY?: boolean };

/** Asks on a terminal, as {@link confirm} does. Ctrl-C and Ctrl-D count as no. */
export async function confirmOn(
  input: Terminal<NodeJS.ReadableStream>,
  output: Terminal<NodeJS.WritableStream>,
  what: string,
): Promise<void> {
  if (!input.isTTY)
    throw new OperatorError(`this ${what}; stdin is not a terminal, so give --yes to confirm`);
  const terminal = createInterface({ input, output });
  try {
    const answer = await terminal.question(`this ${what}. Continue? [y/N] `).catch((error: Error) => {
      if (error.name !== 'AbortError') throw error;
      output.write('\n');
      return '';
    });
    if (!/^y(es)?$/i.test(answer.trim())) throw new OperatorError('cancelled; nothing was done');
  } finally {
    terminal.close();
  }
}
