/**
 * Finds the integers behind decimals: values that equal m / d, or m * (1 / d) in floating-point
 * multiplication, either exactly or within a few units in the last place (ulps). The denominator d is a power
 * of ten; or a power of ten times 3, 9 or 7, since agents divide by 60 seconds and by jiffies.
 *
 * That metrics are mostly decimals, and that the exponent is best found by trying a sample and verifying
 * every value, is the observation of ALP (A. Afroozeh, L. Kuffo, P. Boncz, SIGMOD 2024). ALP multiplies by
 * 10^e and 10^-f, and stores values that are not restored exactly as exceptions. Here, the division is exact
 * more often, and small errors are stored as ulps, because sums and averages cause many of them.
 */

/** 10^22 is the highest power of ten that a float64 can represent exactly. */
export const MAX_EXPONENT = 22;

/** Parsed from literals, since `10 ** e` is not always the nearest float64. */
const POWERS = Float64Array.from({ length: MAX_EXPONENT + 1 }, (_, e) => Number(`1e${e}`));

/**
 * Denominators are one of these factors times a power of ten. For factors other than 1, the exponent is at
 * most {@link MAX_FACTORED_EXPONENT}.
 */
export const FACTORS = [1, 3, 9, 7] as const;
export const MAX_FACTORED_EXPONENT = 18;

/** Returns a denominator. Each is exact as a float64, so 1 / d is the float64 nearest to its inverse. */
export function denominator(factor: number, exponent: number): number {
  return factor * POWERS[exponent]!;
}

/** For larger mantissas, adding ROUND would not round to an integer. */
const MAX_MANTISSA = 2 ** 51;
/** 1.5 * 2^52: adding and subtracting it rounds to an integer. */
const ROUND = 6755399441055744;
/** A value with a larger residual is an exception. */
const MAX_ULPS = 1024;
/**
 * A value within NEAR_ULPS of a decimal whose mantissa is below NEAR_MANTISSA is assumed to be that decimal.
 */
const NEAR_ULPS = 4;
const NEAR_MANTISSA = 2 ** 40;

export interface Decimals {
  /** One of {@link FACTORS}. */
  factor: number;
  exponent: number;
  /** Whether values are m * (1 / d) instead of m / d. */
  isProduct: boolean;
  /** m of each value; for exceptions, that of the previous value. */
  mantissas: Float64Array;
  /** Whether any of `ulps` is not 0, and how many. */
  hasUlps: boolean;
  ulpCount: number;
  /** Differences to add to the bits of the decimals. */
  ulps: Float64Array;
  exceptionCount: number;
  /** Indexes of the values that are not such decimals. */
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
 * @param bits the halves of `values`, as signed integers
 * @returns undefined when too many values are not decimals; otherwise an object that the next call overwrites
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
    if (factor === 1 || !fitsSample(values, factor)) continue;
    const factored = tryFactor(values, bits, factor);
    if (factored !== undefined && !isNoisy(factored, count)) return factored;
  }
  return decimals === undefined ? undefined : tryFactor(values, bits, 1);
}

/** Whether so many values differ from their decimals by some ulps that another encoding may be smaller. */
export function isNoisy(decimals: Decimals, count: number): boolean {
  return decimals.ulpCount * 4 > count;
}

/** Whether at least three quarters of a sample are decimals with this factor. */
function fitsSample(values: Float64Array, factor: number): boolean {
  const sampled = Math.min(values.length, FACTOR_SAMPLED);
  let fitting = 0;
  for (let i = 0; i < sampled; i++) {
    const value = values[Math.floor((i * values.length) / sampled)]!;
    if (value - value !== 0) continue;
    const exponent = raiseExponent(value, -1, SHORT_MANTISSA, factor);
    if (
      exponent >= 0 &&
      isNear(value, (value * denominator(factor, exponent) + ROUND - ROUND) / denominator(factor, exponent))
    )
      fitting++;
  }
  return fitting * 4 >= sampled * 3;
}

const FACTOR_SAMPLED = 12;

function tryFactor(values: Float64Array, bits: Int32Array, factor: number): Decimals | undefined {
  const count = values.length;
  const { mantissas, ulps, exceptions } = scratch;
  const maxExceptions = 1 + (count >> 4);
  const start = sampleExponents(values, factor);
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
          // Start again with the higher exponent. Values with fewer digits remain decimals, with more zeros.
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

/** After this many searches, the exponent is kept: further searches cost more than they save. */
const MAX_SEARCHES = 64;

/**
 * Chooses the initial exponent and the limit of mantissas, from a sample. Within a few ulps of a short
 * decimal there may be a decimal with 15 or 16 digits, which must not determine the exponent for all values.
 * Mantissas of that length are allowed only if a quarter of the sample needs them.
 */
function sampleExponents(values: Float64Array, factor: number): { exponent: number; limit: number } {
  const sampled = Math.min(values.length, SAMPLED);
  let short = 0;
  let longest = 0;
  let longCount = 0;
  for (let i = 0; i < sampled; i++) {
    const value = values[Math.floor((i * values.length) / sampled)]!;
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
  return longCount * 4 > sampled
    ? { exponent: Math.max(short, longest), limit: MAX_MANTISSA }
    : { exponent: short, limit: SHORT_MANTISSA };
}

/** Largest short mantissa: 14 digits. */
const SHORT_MANTISSA = 2 ** 47;
const SAMPLED = 24;

/**
 * Returns the next higher exponent for which `value` is a decimal, or nearly a decimal with few digits;
 * `exponent` if there is none.
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

/** Whether the two differ by at most {@link NEAR_ULPS}. */
function isNear(value: number, decimal: number): boolean {
  return Math.abs(decimal - value) <= NEAR_ULPS * 2 ** -53 * Math.abs(value);
}

/** Returns the difference between the given bits and those of `decimal`; large if the signs differ. */
function ulpsBetween(low: number, high: number, decimal: number): number {
  one[0] = decimal;
  return (high - oneBits[1]!) * 2 ** 32 + ((low >>> 0) - (oneBits[0]! >>> 0));
}

/**
 * Tries products instead of quotients: many programs compute m * 0.001 for m / 1000, and then products leave
 * fewer residuals.
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
