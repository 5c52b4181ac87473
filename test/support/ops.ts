import { AsyncLocalStorage } from 'node:async_hooks';
import { type Command, CommanderError } from 'commander';
import { OperatorError } from '../../scripts/ops/invoke';
import { opsProgram } from '../../scripts/ops/program';

/** What a command printed, and its exit code. */
export interface OpsRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** The output of the command in whose course something is printed: commands may run beside each other. */
const outputs = new AsyncLocalStorage<{ out: string; err: string }>();
const { log, error } = console;
console.log = (...values) => (write('out', values.join(' ')) ? undefined : log(...values));
console.error = (...values) => (write('err', values.join(' ')) ? undefined : error(...values));
// Nobody can answer a command that asks.
Object.defineProperty(process.stdin, 'isTTY', { value: false });

/** @returns false if no command prints */
function write(stream: 'out' | 'err', text: string): boolean {
  const output = outputs.getStore();
  if (output !== undefined) output[stream] += `${text}\n`;
  return output !== undefined;
}

/** Makes a command throw where it would end the process. */
function throwing(command: Command): Command {
  command.exitOverride().configureOutput({
    writeOut: (text) => write('out', text.trimEnd()),
    writeErr: (text) => write('err', text.trimEnd()),
  });
  command.commands.forEach(throwing);
  return command;
}

/** Runs an operator command in this process, which takes a fiftieth of the time of a process of its own. */
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

/** Runs an operator command on a local stack, and reads its `--json`. @throws with what it printed, when it fails */
export async function ops<T>(url: string, ...args: readonly string[]): Promise<T> {
  const { code, out, err } = await runOps(...args, '--url', url, '--json');
  if (code !== 0) throw new Error(err);
  return JSON.parse(out) as T;
}
