import { fixed, integerOf, stringOf, type TemplateFunction } from './arguments';
import { print, sprint, sprintf } from './format';
import {
  AnyMap,
  areEqual,
  compareValues,
  isSlice,
  isStringMap,
  isTrue,
  TemplateError,
  type TemplateValue,
  typeName,
} from './values';

/**
 * Functions built into `text/template`. The evaluator itself short-circuits `and` and `or`.
 *
 * @see https://pkg.go.dev/text/template#hdr-Functions
 */
export const BUILT_IN_FUNCTIONS: readonly (readonly [name: string, run: TemplateFunction])[] = [
  ['and', (args) => args.find((value) => !isTrue(value)) ?? args.at(-1)!],
  ['or', (args) => args.find(isTrue) ?? args.at(-1)!],
  ['not', fixed(1, ([value]) => !isTrue(value!))],
  ['eq', ([first, ...rest]) => needTwo(first, rest).some((other) => areEqual(first!, other))],
  ['ne', fixed(2, ([a, b]) => !areEqual(a!, b!))],
  ['lt', fixed(2, ([a, b]) => compareValues(a!, b!) < 0)],
  ['le', fixed(2, ([a, b]) => compareValues(a!, b!) <= 0)],
  ['gt', fixed(2, ([a, b]) => compareValues(a!, b!) > 0)],
  ['ge', fixed(2, ([a, b]) => compareValues(a!, b!) >= 0)],
  ['len', fixed(1, ([value]) => lengthOf(value!))],
  ['index', ([value, ...keys]) => keys.reduce(elementOf, value ?? null)],
  ['slice', ([value, ...bounds]) => sliceOf(value ?? null, bounds)],
  ['print', (args) => sprint(args)],
  ['printf', ([format, ...values]) => sprintf(stringOf(format ?? null), values)],
  ['println', (args) => `${args.map(print).join(' ')}\n`],
  ['html', (args) => escapeText(textOf(args), HTML_ESCAPES)],
  ['js', (args) => escapeText(textOf(args), JS_ESCAPES)],
  ['urlquery', (args) => queryEscape(textOf(args))],
  [
    'call',
    ([value]) => {
      throw new TemplateError(`non-function of type ${typeName(value ?? null)}`);
    },
  ],
];

/** Escapes a string for a URL's query, as Go's `url.QueryEscape` does. */
export function queryEscape(text: string): string {
  return encodeURIComponent(text.toWellFormed())
    .replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');
}

const HTML_ESCAPES: Readonly<Record<string, string>> = {
  '"': '&#34;',
  "'": '&#39;',
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
};

const JS_ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  "'": "\\'",
  '"': '\\"',
  '<': '\\u003C',
  '>': '\\u003E',
  '&': '\\u0026',
  '=': '\\u003D',
  '\n': '\\u000A',
  '\r': '\\u000D',
  '\t': '\\u0009',
};

function escapeText(text: string, escapes: Readonly<Record<string, string>>): string {
  return text.replace(/[\n\r\t"'&<>=\\]/g, (c) => escapes[c] ?? c);
}

/**
 * Returns the arguments as one string: a single string is unchanged, and anything else is formatted like Go's `print`.
 */
function textOf(args: readonly TemplateValue[]): string {
  return args.length === 1 && typeof args[0] === 'string' ? args[0] : sprint(args);
}

function needTwo(first: TemplateValue | undefined, rest: readonly TemplateValue[]): readonly TemplateValue[] {
  if (first === undefined || rest.length === 0) throw new TemplateError('missing argument for comparison');
  return rest;
}

function lengthOf(value: TemplateValue): bigint {
  if (typeof value === 'string') return BigInt(Buffer.byteLength(value));
  if (isSlice(value)) return BigInt(value.length);
  if (value instanceof AnyMap) return BigInt(value.entries.size);
  if (isStringMap(value)) return BigInt(value.size);
  throw new TemplateError(`len of type ${typeName(value)}`);
}

function elementOf(value: TemplateValue, key: TemplateValue): TemplateValue {
  if (value instanceof AnyMap) return value.entries.get(stringOf(key)) ?? null;
  if (isStringMap(value)) return value.get(stringOf(key)) ?? '';
  const at = Number(integerOf(key));
  if (typeof value === 'string') {
    const byte = Buffer.from(value)[at];
    if (byte !== undefined) return BigInt(byte);
  } else if (isSlice(value)) {
    const element = value[at];
    if (element !== undefined) return element;
  } else throw new TemplateError(`can't index item of type ${typeName(value)}`);
  throw new TemplateError(`index out of range: ${at}`);
}

function sliceOf(value: TemplateValue, bounds: readonly TemplateValue[]): TemplateValue {
  if (typeof value !== 'string' && !isSlice(value))
    throw new TemplateError(`can't slice item of type ${typeName(value)}`);
  if (bounds.length > 2) throw new TemplateError(`too many slice indexes: ${bounds.length}`);
  const items = typeof value === 'string' ? Buffer.from(value) : value;
  const { length } = items;
  const [from = 0, to = length] = bounds.map((bound) => Number(integerOf(bound)));
  for (const bound of [from, to])
    if (bound < 0 || bound > length) throw new TemplateError(`index out of range: ${bound}`);
  if (from > to) throw new TemplateError(`invalid slice index: ${from} > ${to}`);
  return items instanceof Uint8Array ? items.subarray(from, to).toString() : items.slice(from, to);
}
