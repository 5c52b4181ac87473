import { createInterface } from 'node:readline/promises';
import { OperatorError } from './invoke';

/** Asks whether to do what cannot be undone. */
export type Confirm = (what: string) => Promise<void>;

/**
 * Asks on the terminal.
 *
 * @param what completes "this ..."
 * @throws {OperatorError} on any answer but y or yes, and where nobody can answer
 */
export const confirm: Confirm = async (what) => {
  if (!process.stdin.isTTY)
    throw new OperatorError(
      `this ${what}; give --yes to do it without being asked, as nobody can answer here`,
    );
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`this ${what}. Go on? [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) throw new OperatorError('nothing was done');
  } finally {
    terminal.close();
  }
};
