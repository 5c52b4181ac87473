/**
 * Finds the integers behind decimals. Most metric values are a quotient m / d of an integer m, the mantissa, and a
 * common denominator d. For example, 12.5 is 125 / 10. A sequence of mantissas compresses far better than a sequence of
 * float64. Some values are instead the floating-point product m * (1 / d). A value may differ from the quotient or
 * product by a few units in the last place (ulps). The denominator is a power of ten, possibly times 3, 9 or 7, since
 * agents divide by 60 seconds and by jiffies.
 *
 * ALP (A. Afroozeh, L. Kuffo, P. Boncz, SIGMOD 2024) observed that metrics are mostly decimals, and found the exponent
 * by trying a few values and then verifying every value. ALP multiplies by 10^e and 10^-f, and stores values that this
 * does not restore exactly as exceptions. The division used here is exact more often. Small errors, which sums and
 * averages often cause, are stored as ulps.
 */

/** Maximum exponent of a denominator. 10^22 is the highest power of ten that a float64 represents exactly. */
export const MAX_EXPONENT = 22;

/**
 * Powers of ten by exponent. They are parsed from text, since `10 ** e` is not always the nearest float64.
 */
const POWERS = Float64Array.from({ length: MAX_EXPONENT + 1 }, (_, e) => Number(`1e${e}`));

/** A denominator is one of these factors times a power of ten. Their order is part of the format. */
export const FACTORS = [1, 3, 9, 7] as const;
/** Maximum exponent of a denominator whose factor is not 1. */
export const MAX_FACTORED_EXPONENT = 18;

/**
 * Returns a denominator d. A float64 represents every denominator exactly, so 1 / d is the float64 nearest to its true
 * inverse.
 */
export function denominator(factor: number, exponent: number): number {
  return factor * POWERS[exponent]!;
}

/** Mantissas must be below this bound: adding {@link ROUND} to a larger number does not round it to an integer. */
const MAX_MANTISSA = 2 ** 51;
/** 1.5 * 2^52. Adding it to a number and subtracting it again rounds the number to an integer. */
const ROUND = 6755399441055744;
/** A value that differs from its decimal by more ulps than this is an exception. */
const MAX_ULPS = 1024;
/** A value at most this many ulps from a decimal with a short mantissa probably came from that decimal. */
const NEAR_ULPS = 4;
/** A mantissa below this bound is short in the sense of {@link NEAR_ULPS}. */
const NEAR_MANTISSA = 2 ** 40;

/**
 * Values as decimals: each is m / d, where d is `factor * 10 ** exponent`, plus some ulps, or an exception.
 */
export interface Decimals {
  /** One of {@link FACTORS}. */
  factor: number;
  exponent: number;
  /** Whether values are m * (1 / d) instead of m / d. */
  isProduct: boolean;
  /** The mantissa of each value. For an exception, the previous value's mantissa is repeated, which takes few bits. */
  mantissas: Float64Array;
  /** Whether any element of `ulps` is not 0. */
  hasUlps: boolean;
  /** How many elements of `ulps` are not 0. */
  ulpCount: number;
  /** For each value, the integer to add to the bits of its decimal to get the bits of the value. */
  ulps: Float64Array;
  exceptionCount: number;
  /** Indexes of the exceptions: values that are stored as raw bits, because they are not decimals. */
  exceptions: Uint32Array;
}

const scratch: Decimals = {
  factor: 1,
  exponent: 0,
  isProduct: false,
  mantissas: new Float64Array(0),
  hasUlps: false,
  ulpCount: 0,
  ulps: new Float64Array(0),
  exceptionCount: 0,
  exceptions: new Uint32Array(0),
};

const one = new Float64Array(1);
const oneBits = new Int32Array(one.buffer);

/**
 * Finds the decimals of values.
 *
 * @param bits the 32-bit halves of `values`, as signed integers
 * @returns an object that the next call will overwrite; undefined if too many values are not decimals
 */
export function findDecimals(values: Float64Array, bits: Int32Array): Decimals | undefined {
  const count = values.length;
  if (scratch.mantissas.length < count) {
    scratch.mantissas = new Float64Array(count * 2);
    scratch.ulps = new Float64Array(count * 2);
    scratch.exceptions = new Uint32Array(count * 2);
  }
  const decimals = tryFactor(values, bits, 1);
  if (decimals !== undefined && !isNoisy(decimals, count)) return decimals;
  for (const factor of FACTORS) {
    if (factor === 1 || !fitsFactor(values, factor)) continue;
    const factored = tryFactor(values, bits, factor);
    if (factored !== undefined && !isNoisy(factored, count)) return factored;
  }
  return decimals === undefined ? undefined : tryFactor(values, bits, 1);
}

/** Whether more than a quarter of the values differ from their decimals, so another form may be smaller. */
export function isNoisy(decimals: Decimals, count: number): boolean {
  return decimals.ulpCount * 4 > count;
}

/** Looks at a few values. Returns whether at least three quarters of them are decimals with this factor. */
function fitsFactor(values: Float64Array, factor: number): boolean {
  const count = Math.min(values.length, FACTOR_VALUES);
  let fitting = 0;
  for (let i = 0; i < count; i++) {
    const value = values[Math.floor((i * values.length) / count)]!;
    if (value - value !== 0) continue;
    const exponent = raiseExponent(value, -1, SHORT_MANTISSA, factor);
    if (
      exponent >= 0 &&
      isNear(value, (value * denominator(factor, exponent) + ROUND - ROUND) / denominator(factor, exponent))
    )
      fitting++;
  }
  return fitting * 4 >= count * 3;
}

/** Number of values that {@link fitsFactor} examines. */
const FACTOR_VALUES = 12;

/** Finds the decimals of values for one factor. Returns undefined if too many values are not decimals. */
function tryFactor(values: Float64Array, bits: Int32Array, factor: number): Decimals | undefined {
  const count = values.length;
  const { mantissas, ulps, exceptions } = scratch;
  const maxExceptions = 1 + (count >> 4);
  const start = firstExponent(values, factor);
  let { exponent } = start;
  let searches = 0;
  let power = denominator(factor, exponent);
  let exceptionCount = 0;
  let noisy = 0;
  for (let i = 0; i < count; i++) {
    const value = values[i]!;
    const mantissa = value * power + ROUND - ROUND;
    ulps[i] = 0;
    mantissas[i] = mantissa;
    if (mantissa / power === value && mantissa < MAX_MANTISSA && mantissa > -MAX_MANTISSA) {
      if (mantissa !== 0 || bits[2 * i + 1] === 0) continue;
    } else {
      if (searches < MAX_SEARCHES && value - value === 0 && !isNear(value, mantissa / power)) {
        searches++;
        const raised = raiseExponent(value, exponent, start.limit, factor);
        if (raised > exponent) {
          exponent = raised;
          power = denominator(factor, raised);
          // Start over with the higher exponent. The values so far remain decimals: their mantissas only get more
          // trailing zeros.
          exceptionCount = 0;
          noisy = 0;
          i = -1;
          continue;
        }
      }
      if (mantissa < MAX_MANTISSA && mantissa > -MAX_MANTISSA) {
        const difference = ulpsBetween(bits[2 * i]!, bits[2 * i + 1]!, mantissa / power);
        if (difference <= MAX_ULPS && difference >= -MAX_ULPS) {
          ulps[i] = difference;
          noisy++;
          continue;
        }
      }
    }
    if (exceptionCount === maxExceptions) return undefined;
    exceptions[exceptionCount++] = i;
    mantissas[i] = i === 0 ? 0 : mantissas[i - 1]!;
  }
  scratch.factor = factor;
  scratch.exponent = exponent;
  scratch.isProduct = false;
  scratch.hasUlps = noisy > 0;
  scratch.ulpCount = noisy;
  scratch.exceptionCount = exceptionCount;
  if (noisy > 0) tryProduct(values, bits, noisy);
  return scratch;
}

/** Maximum number of searches for a higher exponent in one segment. More searches are not worth the time. */
const MAX_SEARCHES = 64;

/**
 * Chooses, from a few values, the exponent to begin with and the limit on mantissas. A value with an error of a
 * few ulps often happens to be a decimal with 15 or 16 digits. Such a value must not determine the exponent of all
 * values. So mantissas of that length are allowed only if more than a quarter of these values need them.
 */
function firstExponent(values: Float64Array, factor: number): { exponent: number; limit: number } {
  const count = Math.min(values.length, EXPONENT_VALUES);
  let short = 0;
  let longest = 0;
  let longCount = 0;
  for (let i = 0; i < count; i++) {
    const value = values[Math.floor((i * values.length) / count)]!;
    // Skip values that are integers, without a search.
    if (value === 0 || (value + ROUND - ROUND === value && Math.abs(value) < SHORT_MANTISSA)) continue;
    const exponent = value - value === 0 ? raiseExponent(value, -1, MAX_MANTISSA, factor) : -1;
    if (exponent < 0) continue;
    if (Math.abs(value) * denominator(factor, exponent) < SHORT_MANTISSA) short = Math.max(short, exponent);
    else {
      longest = Math.max(longest, exponent);
      longCount++;
    }
  }
  return longCount * 4 > count
    ? { exponent: Math.max(short, longest), limit: MAX_MANTISSA }
    : { exponent: short, limit: SHORT_MANTISSA };
}

/** The limit on mantissas unless many values need longer ones: about 14 digits. */
const SHORT_MANTISSA = 2 ** 47;
/** Number of values that {@link firstExponent} examines. */
const EXPONENT_VALUES = 24;

/**
 * Returns the lowest exponent above `exponent` for which a value is a decimal. If there is none, returns one
 * for which the value is within {@link NEAR_ULPS} of a decimal with few digits, or else `exponent`.
 */
function raiseExponent(value: number, exponent: number, limit: number, factor: number): number {
  let near = exponent;
  const most = factor === 1 ? MAX_EXPONENT : MAX_FACTORED_EXPONENT;
  for (let e = exponent + 1; e <= most; e++) {
    const power = denominator(factor, e);
    const scaled = value * power;
    if (!(scaled < limit && scaled > -limit)) break;
    const mantissa = scaled + ROUND - ROUND;
    const decimal = mantissa / power;
    if (decimal === value) return e;
    if (near === exponent && Math.abs(mantissa) < NEAR_MANTISSA && mantissa !== 0) {
      if (isNear(value, decimal)) near = e;
    }
  }
  return near;
}

/** Whether a value and a decimal differ by at most about {@link NEAR_ULPS} ulps. */
function isNear(value: number, decimal: number): boolean {
  return Math.abs(decimal - value) <= NEAR_ULPS * 2 ** -53 * Math.abs(value);
}

/**
 * Returns the distance between a value and `decimal` in ulps: the value's bits minus the bits of `decimal`, both
 * read as integers. If the signs differ, the distance is very large.
 *
 * @param low the lower half of the value's bits
 * @param high the upper half, signed
 */
function ulpsBetween(low: number, high: number, decimal: number): number {
  one[0] = decimal;
  return (high - oneBits[1]!) * 2 ** 32 + ((low >>> 0) - (oneBits[0]! >>> 0));
}

/**
 * Switches `scratch` from quotients to products if fewer values then differ from their decimals. Many programs compute
 * m * 0.001 instead of m / 1000; the results may differ in the last bits.
 *
 * @param noisy number of values that differ from their quotients
 */
function tryProduct(values: Float64Array, bits: Int32Array, noisy: number): void {
  const { mantissas, ulps, exceptions, exceptionCount, factor, exponent } = scratch;
  const inverse = 1 / denominator(factor, exponent);
  let noisyProducts = 0;
  let exception = 0;
  for (let i = 0; i < values.length; i++) {
    if (exception < exceptionCount && exceptions[exception] === i) exception++;
    else if (mantissas[i]! * inverse !== values[i]) noisyProducts++;
  }
  if (noisyProducts >= noisy) return;
  exception = 0;
  for (let i = 0; i < values.length; i++) {
    if (exception < exceptionCount && exceptions[exception] === i) exception++;
    else ulps[i] = ulpsBetween(bits[2 * i]!, bits[2 * i + 1]!, mantissas[i]! * inverse);
  }
  scratch.isProduct = true;
  scratch.hasUlps = noisyProducts > 0;
  scratch.ulpCount = noisyProducts;
}
