import { Command } from 'commander';
import { type Harness, withHarness } from './harness';
import { addOptions, type Options, type Values } from './options';
import { textOf } from './report';

/** A benchmark in the list of benchmarks.ts. */
export interface Benchmark {
  readonly name: string;
  /**
   * Creates the benchmark's command.
   *
   * @param print receives the result as text, or with `--json` as one line of JSON. @default prints to stdout
   */
  command(print?: (text: string) => void): Command;
}

interface Definition<O extends Options, R> {
  readonly name: string;
  /** One line for the list of benchmarks. */
  readonly summary: string;
  /** Description in the benchmark's own help. */
  readonly description: string;
  /** Help text after the options: what is real and what is stubbed. */
  readonly notes?: string;
  readonly options: O;
  readonly run: (options: Values<O>, harness: Harness) => Promise<R>;
  /**
   * Formats the result for display.
   *
   * @default formats rows as a table, and an object field by field
   */
  readonly show?: (result: R) => string;
}

const toStdout = (text: string) => {
  process.stdout.write(`${text}\n`);
};

/** Creates a benchmark. When a run ends, everything that it started through the harness is stopped. */
export function bench<O extends Options, R>(definition: Definition<O, R>): Benchmark {
  const { name, summary, description, notes, options, run, show = textOf } = definition;
  const command = (print = toStdout) => {
    const made = addOptions(new Command(name).summary(summary).description(description), options)
      .option('--json', 'the result as one JSON value on stdout, as the last line')
      .action(async ({ json, ...values }: { json?: boolean }) => {
        const result = await withHarness(name, (harness) => run(values as unknown as Values<O>, harness));
        print(json === true ? JSON.stringify(result) : show(result));
      });
    return notes === undefined ? made : made.addHelpText('after', `\n${notes}`);
  };
  return { name, command };
}
