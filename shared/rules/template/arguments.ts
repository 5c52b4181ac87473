import { formatFloat, goQuote } from './format';
import { GoDuration, GoTime } from './time';
import { isSlice, TemplateError, TemplateSample, type TemplateValue, typeName } from './values';

/** Context that template functions may use. */
export interface FunctionContext {
  /** Evaluates an expression for the function `query`. */
  readonly query: (expr: string) => Promise<readonly TemplateSample[]>;
  /** The time of the evaluation, as Unix time in ms. */
  readonly nowMs: number;
  /** Base address for links to the database's web page. */
  readonly externalUrl: string;
}

export type TemplateFunction = (
  args: readonly TemplateValue[],
  context: FunctionContext,
) => TemplateValue | Promise<TemplateValue>;

/** Creates a function with a fixed number of arguments. */
export function fixed(
  count: number,
  run: (args: readonly TemplateValue[], context: FunctionContext) => TemplateValue | Promise<TemplateValue>,
): TemplateFunction {
  return (args, context) => {
    if (args.length !== count)
      throw new TemplateError(`wrong number of args: want ${count} got ${args.length}`);
    return run(args, context);
  };
}

/**
 * These functions convert arguments to the types that template functions expect. Each throws {@link
 * TemplateError} for any other type.
 */

function wrongType(wanted: string, value: TemplateValue): TemplateError {
  return new TemplateError(`wrong type for value; expected ${wanted}; got ${typeName(value)}`);
}

export function stringOf(value: TemplateValue): string {
  if (typeof value !== 'string') throw wrongType('string', value);
  return value;
}

export function integerOf(value: TemplateValue): bigint {
  if (typeof value !== 'bigint') throw wrongType('int', value);
  return value;
}

/**
 * Returns the value if it has the given type. Throws for a value of another type.
 *
 * @param name the type's name in Go
 */
export function instanceOf<T>(type: new (...args: never[]) => T, name: string, value: TemplateValue): T {
  if (!(value instanceof type)) throw wrongType(name, value);
  return value;
}

export function sampleOf(value: TemplateValue): TemplateSample {
  return instanceOf(TemplateSample, '*template.sample', value);
}

export function templateSamplesOf(value: TemplateValue): readonly TemplateSample[] {
  if (!isSlice(value)) throw wrongType('template.queryResult', value);
  return value.map(sampleOf);
}

const FLOAT = /^[+-]?(?:inf(?:inity)?|nan|(?:\d[\d_]*\.?\d*|\.\d+)(?:e[+-]?\d+)?)$/i;

/** Converts a float, an integer, a duration (as seconds) or numeric text to a float. */
export function floatOf(value: TemplateValue): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof GoDuration) return value.seconds;
  if (typeof value !== 'string') throw new TemplateError(`can't convert ${typeName(value)} to float`);
  if (!FLOAT.test(value))
    throw new TemplateError(`strconv.ParseFloat: parsing ${goQuote(value)}: invalid syntax`);
  const magnitude = value.replace(/^[+-]/, '').toLowerCase();
  const parsed = magnitude.startsWith('inf')
    ? Number.POSITIVE_INFINITY
    : Number(magnitude.replaceAll('_', ''));
  return value.startsWith('-') ? -parsed : parsed;
}

/** Converts Unix time in seconds to a Go time. */
export function timeOf(seconds: number): GoTime {
  if (!Number.isFinite(seconds)) throw new TemplateError('value is NaN or Inf');
  const time = GoTime.ofSeconds(seconds);
  if (time === undefined)
    throw new TemplateError(
      `${formatFloat(seconds, 'g', -1)} cannot be represented as a nanoseconds timestamp since it overflows int64`,
    );
  return time;
}

export function durationOf(seconds: number): GoDuration {
  const duration = GoDuration.ofSeconds(seconds);
  if (duration === undefined)
    throw new TemplateError(`${formatFloat(seconds, 'g', -1)} seconds exceed the longest duration`);
  return duration;
}
