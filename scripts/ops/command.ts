import { Command, Option } from 'commander';
import { Functions } from './invoke';

/** Options of every command that talks to a stack. */
export interface CommonOptions {
  readonly url: string;
  readonly stack?: string;
  readonly json?: boolean;
}

const LOCAL_URL = 'http://127.0.0.1:8080';

/** Creates a command with the common options. */
export function command(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .addOption(new Option('--url <url>', 'address of the local stack').default(LOCAL_URL))
    .addOption(
      new Option(
        '--stack <name>',
        'use a stack on AWS, such as heterotsdb-production, with credentials and region from the environment',
      ).conflicts('url'),
    )
    .option('--json', 'print the result as JSON on stdout; progress goes to stderr');
}

/** Runs a command and prints its result, as JSON or formatted by `show`. */
export async function run<T>(
  options: CommonOptions,
  work: (functions: Functions) => Promise<T>,
  show: (result: T) => string,
): Promise<void> {
  const functions = new Functions(options.url, options.stack);
  try {
    print(options, await work(functions), show);
  } finally {
    functions.close();
  }
}

/** Prints a command's result, as JSON or formatted by `show`. */
export function print<T>(
  { json }: { readonly json?: boolean },
  result: T,
  show: (result: T) => string,
): void {
  console.log(json ? JSON.stringify(result) : show(result));
}

/** Runs a command that is a single call of the operator function. */
export function callOperator<T>(
  options: CommonOptions,
  event: { readonly command: string } & Readonly<Record<string, unknown>>,
  show: (result: T) => string,
): Promise<void> {
  return run(options, (functions) => functions.invoke<T>('operator', event), show);
}

/** Prints progress on stderr, because stdout is for the result. */
export const progress = (line: string) => console.error(line);
