import { AsyncLocalStorage } from 'node:async_hooks';
import { type Command, CommanderError } from 'commander';
import { OperatorError } from '../../scripts/ops/invoke';
import { opsProgram } from '../../scripts/ops/program';

/** The output of a command, and its exit code. */
export interface OpsRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** The output of the command that is running in this asynchronous context. Commands may run concurrently. */
const outputs = new AsyncLocalStorage<{ out: string; err: string }>();
const { log, error } = console;
console.log = (...values) => (write('out', values.join(' ')) ? undefined : log(...values));
console.error = (...values) => (write('err', values.join(' ')) ? undefined : error(...values));
// Commands run without a terminal. So one that would ask a question fails, since nobody can answer.
Object.defineProperty(process.stdin, 'isTTY', { value: false });

/** Adds a line to the running command's output. @returns false if no command is running */
function write(stream: 'out' | 'err', text: string): boolean {
  const output = outputs.getStore();
  if (output !== undefined) output[stream] += `${text}\n`;
  return output !== undefined;
}

/** Makes a command throw instead of ending the process. */
function throwing(command: Command): Command {
  command.exitOverride().configureOutput({
    writeOut: (text) => write('out', text.trimEnd()),
    writeErr: (text) => write('err', text.trimEnd()),
  });
  command.commands.forEach(throwing);
  return command;
}

/** Runs an operator command in this process. A separate process would take fifty times as long. */
export function runOps(...args: readonly string[]): Promise<OpsRun> {
  const output = { out: '', err: '' };
  return outputs.run(output, async () => {
    try {
      await throwing(opsProgram()).parseAsync(args, { from: 'user' });
      return { code: 0, ...output };
    } catch (error) {
      if (error instanceof OperatorError)
        return { code: 1, ...output, err: `${output.err}ops: ${error.message}\n` };
      if (error instanceof CommanderError) return { code: error.exitCode, ...output };
      throw error;
    }
  });
}

/**
 * Runs an operator command on a local stack, and parses its `--json` output. @throws with the command's stderr if it
 * fails
 */
export async function ops<T>(url: string, ...args: readonly string[]): Promise<T> {
  const { code, out, err } = await runOps(...args, '--url', url, '--json');
  if (code !== 0) throw new Error(err);
  return JSON.parse(out) as T;
}
