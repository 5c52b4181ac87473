import { createInterface } from 'node:readline/promises';
import { OperatorError } from './invoke';

/** Asks for confirmation of an irreversible action. */
export type Confirm = (what: string) => Promise<void>;

/**
 * Asks for confirmation on the terminal.
 *
 * @param what completes the sentence "this ..."
 * @throws {OperatorError} on any answer but y or yes, and when stdin is not a terminal
 */
export const confirm: Confirm = async (what) => {
  if (!process.stdin.isTTY)
    throw new OperatorError(`this ${what}; stdin is not a terminal, so give --yes to confirm`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`this ${what}. Continue? [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) throw new OperatorError('cancelled; nothing was done');
  } finally {
    terminal.close();
  }
};
