import { Command, InvalidArgumentError, Option } from 'commander';
import { Functions } from './invoke';

/** What every command has. */
export interface CommonOptions {
  readonly url: string;
  readonly stack?: string;
  readonly json?: boolean;
}

const LOCAL_URL = 'http://127.0.0.1:8080';

/** A command with the options that all have. */
export function command(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .addOption(new Option('--url <url>', 'of the local stack').default(LOCAL_URL))
    .option(
      '--stack <name>',
      'a stack on AWS instead, such as heterotsdb-production, with the credentials and region of the environment',
    )
    .option('--json', 'print one JSON object');
}

/** Runs a command's work; what it returns is printed as JSON or by `show`. */
export async function run<T>(
  options: CommonOptions,
  work: (functions: Functions) => Promise<T>,
  show: (result: T) => string,
): Promise<void> {
  const functions = new Functions(options.url, options.stack);
  try {
    const result = await work(functions);
    console.log(options.json ? JSON.stringify(result) : show(result));
  } finally {
    functions.close();
  }
}

/** Progress is for people, and not part of what a command prints. */
export const progress = (line: string) => console.error(line);

/** The last time that a Date can be, ms. */
const LAST_TIME_MS = 8_640_000_000_000_000;

/** @returns ms since epoch */
export function parseTime(text: string): number {
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text);
  if (Number.isNaN(ms))
    throw new InvalidArgumentError('Give an ISO time such as 2026-11-21T08:00:00Z, or epoch seconds.');
  if (ms > LAST_TIME_MS)
    throw new InvalidArgumentError('It is beyond the calendar; epoch times are in seconds.');
  return ms;
}
