import { GoDuration, GoTime } from './time';
import { AnyMap, isSlice, TemplateData, TemplateSample, type TemplateValue, typeName } from './values';

/** The parts of Go's `fmt` that templates use. */

/** Maximum width and precision of a verb. A larger value becomes an error in the text, as in Go above a million. */
const MAX_WIDTH = 1000;

/** Decimal digits of a positive number, and the position of the decimal point relative to the first digit. */
interface Digits {
  readonly digits: string;
  readonly point: number;
}

/** Returns the fewest digits that parse back to the same number. */
function shortestDigits(value: number): Digits {
  const [mantissa = '', exponent = '0'] = value.toExponential().split('e');
  return { digits: mantissa.replace('.', ''), point: Number(exponent) + 1 };
}

/** Returns the exact decimal digits of a positive number. */
function exactDigits(value: number): Digits {
  const bits = new BigUint64Array(Float64Array.of(value).buffer)[0]!;
  const biased = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & ((1n << 52n) - 1n);
  const mantissa = biased === 0 ? fraction : fraction | (1n << 52n);
  const exponent = (biased === 0 ? 1 : biased) - 1075;
  if (mantissa === 0n) return { digits: '0', point: 1 };
  const digits =
    exponent >= 0 ? String(mantissa << BigInt(exponent)) : String(mantissa * 5n ** BigInt(-exponent));
  return { digits, point: exponent >= 0 ? digits.length : digits.length + exponent };
}

/** Rounds to a number of digits, half to even. The number of digits may be 0 or less. */
function round({ digits, point }: Digits, count: number): Digits {
  if (count >= digits.length) return { digits, point };
  if (count < 0) return { digits: '0', point: point - count };
  const [head, tail] = [digits.slice(0, count), digits.slice(count)];
  const half = `5${'0'.repeat(tail.length - 1)}`;
  const isOdd = count > 0 && Number(head.at(-1)) % 2 === 1;
  if (tail < half || (tail === half && !isOdd)) return { digits: head === '' ? '0' : head, point };
  const up = String(BigInt(head === '' ? '0' : head) + 1n).padStart(count, '0');
  return { digits: up, point: point + (up.length - count) };
}

/**
 * Formats a float like Go's `strconv.FormatFloat`.
 *
 * @param precision digits after the point for `e` and `f`, significant digits for `g`; -1 for the shortest
 *   text that reads back exactly
 */
export function formatFloat(value: number, verb: 'e' | 'f' | 'g', precision: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const magnitude = Math.abs(value);
  const all = precision < 0 ? shortestDigits(magnitude) : exactDigits(magnitude);
  if (verb === 'f') {
    const kept = precision < 0 ? all : round(all, all.point + precision);
    return sign + fixed(kept, precision < 0 ? Math.max(kept.digits.length - kept.point, 0) : precision);
  }
  if (verb === 'e') {
    const kept = precision < 0 ? all : round(all, precision + 1);
    return sign + scientific(kept, precision < 0 ? kept.digits.length - 1 : precision);
  }
  const significant = precision === 0 ? 1 : precision;
  const { digits, point } = precision < 0 ? all : round(all, significant);
  const kept = { digits: digits.replace(/0+$/, '') || '0', point };
  const count = kept.digits.length;
  let limit = precision < 0 ? 6 : significant;
  if (precision >= 0 && limit > count && count >= point) limit = count;
  const exponent = magnitude === 0 ? 0 : point - 1;
  if (exponent < -4 || exponent >= limit) return sign + scientific(kept, count - 1);
  return sign + fixed(kept, Math.max(count - point, 0));
}

function fixed({ digits, point }: Digits, decimals: number): string {
  const whole = point > 0 ? digits.slice(0, point).padEnd(point, '0') : '0';
  if (decimals === 0) return whole;
  const fraction = point >= 0 ? digits.slice(point) : '0'.repeat(-point) + digits;
  return `${whole}.${fraction.slice(0, decimals).padEnd(decimals, '0')}`;
}

function scientific({ digits, point }: Digits, decimals: number): string {
  const exponent = /^0*$/.test(digits) ? 0 : point - 1;
  const fraction = decimals === 0 ? '' : `.${digits.slice(1, decimals + 1).padEnd(decimals, '0')}`;
  const size = String(Math.abs(exponent)).padStart(2, '0');
  return `${digits[0]}${fraction}e${exponent < 0 ? '-' : '+'}${size}`;
}

/** Formats a value like Go's `%v`. */
export function print(value: TemplateValue): string {
  if (value === null) return '<nil>';
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
      return formatFloat(value, 'g', -1);
    case 'bigint':
    case 'boolean':
      return String(value);
  }
  if (isSlice(value)) return `[${value.map(print).join(' ')}]`;
  if (value instanceof GoTime || value instanceof GoDuration) return value.toString();
  if (value instanceof TemplateSample) return `{${print(value.labels)} ${print(value.value)}}`;
  if (value instanceof TemplateData) return `{${[...value.fields.values()].map(print).join(' ')}}`;
  const entries: ReadonlyMap<string, TemplateValue> = value instanceof AnyMap ? value.entries : value;
  const pairs = [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
  return `map[${pairs.map(([key, each]) => `${key}:${print(each)}`).join(' ')}]`;
}

/** Formats values like Go's `fmt.Sprint`: with a space between two neighbours unless one is a string. */
export function sprint(values: readonly TemplateValue[]): string {
  return values
    .map((value, i) => {
      const spaced = i > 0 && typeof value !== 'string' && typeof values[i - 1] !== 'string';
      return (spaced ? ' ' : '') + print(value);
    })
    .join('');
}

const VERB = /%([-+# 0]*)(\d+)?(?:\.(\d+)?)?(.)|%$/gsu;

/**
 * Formats values like Go's `fmt.Sprintf`.
 *
 * Supports the verbs `v d b o x X c U e E f F g G s q t T %` with flags, width and precision.
 *
 * @see https://pkg.go.dev/fmt
 */
export function sprintf(format: string, values: readonly TemplateValue[]): string {
  let next = 0;
  const text = format.replace(VERB, (whole, flags: string | undefined, width, precision, verb) => {
    if (verb === undefined) return '%!(NOVERB)';
    if (verb === '%') return '%';
    if (next >= values.length) return `%!${verb}(MISSING)`;
    const value = values[next++]!;
    if (Number(width ?? 0) > MAX_WIDTH) return '%!(BADWIDTH)';
    if (Number(precision ?? 0) > MAX_WIDTH) return '%!(BADPREC)';
    const hasPoint = whole.includes('.');
    return pad(value, {
      verb,
      flags: flags ?? '',
      width: Number(width ?? 0),
      precision: hasPoint ? Number(precision ?? 0) : -1,
    });
  });
  if (next >= values.length) return text;
  const extra = values.slice(next).map((value) => `${typeName(value)}=${print(value)}`);
  return `${text}%!(EXTRA ${extra.join(', ')})`;
}

interface Verb {
  readonly verb: string;
  readonly flags: string;
  readonly width: number;
  /** The number after the point in the verb, such as 2 in `%.2f`; -1 if the verb has no point. */
  readonly precision: number;
}

function pad(value: TemplateValue, spec: Verb): string {
  const text = verbText(value, spec);
  if (text.length >= spec.width) return text;
  if (spec.flags.includes('-')) return text.padEnd(spec.width);
  const isNumber = typeof value === 'number' || typeof value === 'bigint';
  if (!spec.flags.includes('0') || !isNumber || /Inf|NaN/.test(text)) return text.padStart(spec.width);
  const sign = /^[-+ ]/.exec(text)?.[0] ?? '';
  return sign + text.slice(sign.length).padStart(spec.width - sign.length, '0');
}

function verbText(value: TemplateValue, { verb, flags, precision }: Verb): string {
  if (verb === 'T') return typeName(value);
  if (verb === 'v') return addSign(value, print(value), flags);
  const bad = `%!${verb}(${typeName(value)}=${print(value)})`;
  if (value === null) return `%!${verb}(<nil>)`;
  switch (typeof value) {
    case 'number': {
      const lower = verb.toLowerCase();
      if (lower !== 'e' && lower !== 'f' && lower !== 'g') return bad;
      const text = formatFloat(value, lower, precision < 0 && lower !== 'g' ? 6 : precision);
      return addSign(
        value,
        verb === lower ? text : text.toUpperCase().replace('INF', 'Inf').replace('NAN', 'NaN'),
        flags,
      );
    }
    case 'bigint':
      return integerText(value, verb, flags) ?? bad;
    case 'boolean':
      return verb === 't' ? String(value) : bad;
    case 'string':
      return stringText(value, verb, precision) ?? bad;
  }
  return verb === 's' ? print(value) : bad;
}

function addSign(value: TemplateValue, text: string, flags: string): string {
  if ((typeof value !== 'number' && typeof value !== 'bigint') || /^[-+]/.test(text)) return text;
  return flags.includes('+') ? `+${text}` : flags.includes(' ') ? ` ${text}` : text;
}

function integerText(value: bigint, verb: string, flags: string): string | undefined {
  const radix = { d: 10, b: 2, o: 8, x: 16, X: 16 }[verb];
  if (radix !== undefined) {
    const text = value.toString(radix);
    return addSign(value, verb === 'X' ? text.toUpperCase() : text, flags);
  }
  const code = value >= 0n && value <= 0x10ffffn ? Number(value) : 0xfffd;
  if (verb === 'c') return String.fromCodePoint(code);
  if (verb === 'q') return `'${String.fromCodePoint(code)}'`;
  if (verb === 'U') return `U+${value.toString(16).toUpperCase().padStart(4, '0')}`;
  return undefined;
}

function stringText(value: string, verb: string, precision: number): string | undefined {
  const cut = precision < 0 ? value : [...value].slice(0, precision).join('');
  if (verb === 's') return cut;
  if (verb === 'q') return goQuote(cut);
  if (verb === 'x' || verb === 'X') {
    const hex = Buffer.from(cut).toString('hex');
    return verb === 'X' ? hex.toUpperCase() : hex;
  }
  return undefined;
}

/** Quotes a string as Go does. */
export function goQuote(text: string): string {
  return JSON.stringify(text).replace(/\\u00([0-9a-f]{2})/g, '\\x$1');
}
