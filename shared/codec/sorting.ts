/**
 * Sorts integers by their digits (radix sort). This doubles the speed of encoding for chunks with a day of samples or
 * more.
 */

/** Maximum length for which the platform's sort is as fast as this one. */
const MAX_SHORT = 128;
const DIGIT_BITS = 9;
const DIGITS = 1 << DIGIT_BITS;
const DIGIT_MASK = DIGITS - 1;

const starts = new Uint32Array(DIGITS);
let keys = new Uint32Array(0);
let otherKeys = new Uint32Array(0);

/** Sorts `integers[0, count)` in ascending order. None of them may be NaN. */
export function sortIntegers(integers: Float64Array, count: number): void {
  if (count <= MAX_SHORT) {
    integers.subarray(0, count).sort();
    return;
  }
  let low = integers[0]!;
  let high = low;
  for (let i = 1; i < count; i++) {
    const integer = integers[i]!;
    if (integer < low) low = integer;
    else if (integer > high) high = integer;
  }
  if (high - low > 0xffffffff) integers.subarray(0, count).sort();
  else sortByDigits(integers, count, low, high - low);
}

/**
 * Radix sort by the distance from the lowest integer, least significant digit first.
 *
 * @param low the lowest integer
 * @param range the distance from `low` to the highest integer, below 2^32
 */
function sortByDigits(integers: Float64Array, count: number, low: number, range: number): void {
  if (keys.length < count) {
    keys = new Uint32Array(count * 2);
    otherKeys = new Uint32Array(count * 2);
  }
  let from = keys;
  let to = otherKeys;
  for (let i = 0; i < count; i++) from[i] = integers[i]! - low;
  const bits = 32 - Math.clz32(range);
  for (let shift = 0; shift < bits; shift += DIGIT_BITS) {
    starts.fill(0);
    for (let i = 0; i < count; i++) starts[(from[i]! >>> shift) & DIGIT_MASK]!++;
    let start = 0;
    for (let digit = 0; digit < DIGITS; digit++) {
      const population = starts[digit]!;
      starts[digit] = start;
      start += population;
    }
    for (let i = 0; i < count; i++) {
      const key = from[i]!;
      to[starts[(key >>> shift) & DIGIT_MASK]!++] = key;
    }
    [from, to] = [to, from];
  }
  for (let i = 0; i < count; i++) integers[i] = from[i]! + low;
}
