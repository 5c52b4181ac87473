import { type Command, Option } from 'commander';
import { InvalidValueError } from '../../ops/option-values';

/** An option of a benchmark: its form on the command line, and its parsed value. */
export interface OptionOf<T> {
  /** Argument such as `<n>`; undefined for a flag. A flag whose default is true is written `--no-NAME`. */
  readonly argument?: string;
  readonly help: string;
  readonly initial: T;
  readonly parse?: (text: string) => T;
  readonly choices?: readonly string[];
}

/** Options by name in camel case. `cpuProf` is `--cpu-prof` on the command line. */
export type Options = Readonly<Record<string, OptionOf<unknown>>>;

export type Values<O extends Options> = {
  readonly [K in keyof O]: O[K] extends OptionOf<infer T> ? T : never;
};

/**
 * An option with an integer.
 *
 * @param least smallest accepted number. @default 1
 */
export function count(help: string, initial: number, least?: number): OptionOf<number>;
export function count(help: string, initial: undefined, least?: number): OptionOf<number | undefined>;
export function count(help: string, initial: number | undefined, least = 1): OptionOf<number | undefined> {
  const parse = (text: string) => {
    if (/^\d+$/.test(text) && Number(text) >= least && Number(text) <= Number.MAX_SAFE_INTEGER)
      return Number(text);
    throw new InvalidValueError(`Give a whole number of at least ${least}.`);
  };
  return { argument: '<n>', help, initial, parse };
}

/** An option with a non-negative number, fractions included. */
export function number(help: string, initial: number): OptionOf<number> {
  const parse = (text: string) => {
    if (text.trim() !== '' && Number(text) >= 0 && Number.isFinite(Number(text))) return Number(text);
    throw new InvalidValueError('Give a number of at least 0.');
  };
  return { argument: '<n>', help, initial, parse };
}

/** An option with numbers separated by commas. */
export function numbers(help: string, initial: readonly number[]): OptionOf<readonly number[]> {
  const one = number(help, 0).parse!;
  return { argument: '<n,...>', help, initial, parse: (text) => text.split(',').map(one) };
}

/** An option with one of `names`. */
export function choice<T extends string>(help: string, names: readonly T[], initial: T): OptionOf<T> {
  return { argument: '<name>', help, initial, choices: names };
}

/**
 * An option with a text.
 *
 * @param argument placeholder such as `<dir>`
 */
export function text(argument: string, help: string): OptionOf<string | undefined>;
export function text(argument: string, help: string, initial: string): OptionOf<string>;
export function text(argument: string, help: string, initial?: string): OptionOf<string | undefined> {
  return { argument, help, initial };
}

/**
 * An option whose values are strings separated by commas, or by blanks if the argument is variadic, such as
 * `<file...>`.
 */
export function texts(argument: string, help: string): OptionOf<readonly string[] | undefined> {
  const isVariadic = /\w\.\.\.>$/.test(argument);
  return {
    argument,
    help,
    initial: undefined,
    ...(!isVariadic && { parse: (given: string) => given.split(',') }),
  };
}

export function flag(help: string, initial = false): OptionOf<boolean> {
  return { help, initial };
}

export function addOptions(command: Command, options: Options): Command {
  for (const [name, { argument, help, initial, parse, choices }] of Object.entries(options)) {
    const kebab = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    const isNegated = argument === undefined && initial === true;
    const option = new Option(
      `--${isNegated ? 'no-' : ''}${kebab}${argument === undefined ? '' : ` ${argument}`}`,
      help,
    );
    if (choices !== undefined) option.choices(choices);
    else if (parse !== undefined) option.argParser(parse);
    if (initial !== undefined && !isNegated)
      option.default(initial, initial === false ? undefined : String(initial));
    command.addOption(option);
  }
  return command;
}
