import { GoDuration, GoTime } from './time';

/** A sample returned by the template function `query`. */
export class TemplateSample {
  constructor(
    readonly labels: ReadonlyMap<string, string>,
    readonly value: number,
  ) {}
}

/** The top-level fields available to an alert's template: `.Labels`, `.ExternalLabels`, `.ExternalURL` and `.Value`. */
export class TemplateData {
  constructor(readonly fields: ReadonlyMap<string, TemplateValue>) {}
}

/** A map from strings to any value, as created by the function `args`. A missing key gives no value. */
export class AnyMap {
  /** Minimum length of the map as text, in characters. A value that occurs in several places counts each time. */
  readonly textLength: number;

  constructor(readonly entries: ReadonlyMap<string, TemplateValue>) {
    this.textLength = textLengthOf(entries);
  }
}

/**
 * A value in a template. Go's `float64` is a number, its `int` a bigint, `map[string]string` a Map, and a
 * slice an array. `null` is Go's `nil`.
 */
export type TemplateValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | ReadonlyMap<string, string>
  | readonly TemplateValue[]
  | AnyMap
  | TemplateData
  | TemplateSample
  | GoTime
  | GoDuration;

/** A template does not parse, or its execution failed. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

/** Returns whether a value is a `map[string]string`. */
export function isStringMap(value: TemplateValue): value is ReadonlyMap<string, string> {
  return value instanceof Map;
}

/** Returns whether a value is a slice. */
export function isSlice(value: TemplateValue): value is readonly TemplateValue[] {
  return Array.isArray(value);
}

/** Returns the minimum length of a value as text, in characters. */
function textLengthOf(value: TemplateValue | AnyMap['entries']): number {
  if (typeof value === 'string') return value.length;
  if (value instanceof AnyMap) return value.textLength;
  if (value instanceof TemplateSample) return textLengthOf(value.labels);
  if (value instanceof TemplateData) return textLengthOf(value.fields);
  if (value instanceof Map)
    return [...value].reduce((sum, [key, each]) => sum + key.length + textLengthOf(each), 'map[]'.length);
  return Array.isArray(value) ? value.reduce((sum, each) => sum + textLengthOf(each), 0) : 1;
}

/** Returns the type's name in Go, for error messages and `%T`. */
export function typeName(value: TemplateValue): string {
  if (value === null) return '<nil>';
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'bigint':
      return 'int';
    case 'number':
      return 'float64';
    case 'string':
      return 'string';
  }
  if (isSlice(value)) return '[]interface {}';
  if (value instanceof AnyMap) return 'map[string]interface {}';
  if (value instanceof TemplateData) return 'struct';
  if (value instanceof TemplateSample) return '*template.sample';
  if (value instanceof GoTime) return '*time.Time';
  if (value instanceof GoDuration) return '*time.Duration';
  return 'map[string]string';
}

/**
 * Returns whether `if`, `with`, `and`, `or` and `not` treat the value as true. Only empty values are false.
 */
export function isTrue(value: TemplateValue): boolean {
  if (value === null) return false;
  if (typeof value === 'number') return value !== 0;
  if (typeof value === 'bigint') return value !== 0n;
  if (typeof value === 'string' || isSlice(value)) return value.length > 0;
  if (typeof value === 'boolean') return value;
  if (isStringMap(value)) return value.size > 0;
  if (value instanceof AnyMap) return value.entries.size > 0;
  return true;
}

/** Returns the pairs that `range` visits, in Go's order: slices by index, maps by sorted key. */
export function rangeOf(value: TemplateValue): (readonly [key: TemplateValue, element: TemplateValue])[] {
  if (value === null) return [];
  if (isSlice(value)) return value.map((element, i) => [BigInt(i), element] as const);
  const map: ReadonlyMap<string, TemplateValue> | undefined =
    value instanceof AnyMap ? value.entries : isStringMap(value) ? value : undefined;
  if (map !== undefined) return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
  throw new TemplateError(`range can't iterate over ${typeName(value)}`);
}

/**
 * Compares two values of the same basic kind.
 *
 * @throws {TemplateError} for values of different kinds, and for values that are neither numbers nor strings
 */
export function compareValues(a: TemplateValue, b: TemplateValue): number {
  if (typeof a !== typeof b || a === null || b === null)
    throw new TemplateError('incompatible types for comparison');
  if (typeof a === 'object' || typeof a === 'boolean')
    throw new TemplateError(`invalid type for comparison: ${typeName(a)}`);
  return a < (b as typeof a) ? -1 : a > (b as typeof a) ? 1 : 0;
}

/**
 * Returns whether two values of the same basic kind are equal. Nil can be compared with any value.
 *
 * @throws {TemplateError} for values of different kinds, and for values that are neither booleans, numbers nor strings
 */
export function areEqual(a: TemplateValue, b: TemplateValue): boolean {
  if (a === null || b === null) return a === b;
  if (typeof a !== typeof b) throw new TemplateError('incompatible types for comparison');
  if (typeof a === 'object') throw new TemplateError(`non-comparable type: ${typeName(a)}`);
  return a === b;
}
