/**
 * Table-driven asymmetric numeral systems (tANS), an entropy coder. It codes symbols with known weights in almost as
 * few bits as their entropy requires, with one table look-up and one shift for each symbol.
 *
 * @see J. Duda, Asymmetric numeral systems, arXiv:1311.2540; Y. Collet's Finite State Entropy, RFC 8878 4.1, whose
 *   spreading of symbols over states is used here
 */

/** Maximum `tableLog`. A coder has 2^tableLog states, which is also the sum of all symbols' weights. */
export const MAX_TABLE_LOG = 11;

const symbolOfState = new Uint8Array(1 << MAX_TABLE_LOG);
/** A counter for each symbol, used to fill tables. All calls reuse this array. */
const nextOfSymbol = new Uint16Array(256);

/** Fills `symbolOfState`. Each symbol gets as many states as its weight, spread far apart. */
function spreadSymbols(weights: ArrayLike<number>, symbolCount: number, tableLog: number): void {
  const size = 1 << tableLog;
  // An odd step visits every state exactly once.
  const step = ((size >> 1) + (size >> 3) + 3) | 1;
  let state = 0;
  for (let symbol = 0; symbol < symbolCount; symbol++) {
    for (let i = weights[symbol]!; i > 0; i--) {
      symbolOfState[state] = symbol;
      state = (state + step) & (size - 1);
    }
  }
}

/** The decoder's table, indexed by the state of the decoder. */
export interface DecodeTable {
  /** The symbol that the decoder yields in each state. */
  readonly symbols: Uint8Array;
  /** For each state, `base << 4 | count`: the decoder's next state is `base` plus the next `count` bits. */
  readonly steps: Uint16Array;
}

/** The table that all decoding uses. Refilling one table for each sequence saves allocations. */
export const decodeTable: DecodeTable = {
  symbols: symbolOfState,
  steps: new Uint16Array(1 << MAX_TABLE_LOG),
};

/**
 * Fills {@link decodeTable}.
 *
 * @param weights the weight of each symbol, at least 1; their sum is 2^tableLog
 */
export function fillDecodeTable(weights: ArrayLike<number>, symbolCount: number, tableLog: number): void {
  spreadSymbols(weights, symbolCount, tableLog);
  const size = 1 << tableLog;
  const { steps } = decodeTable;
  for (let symbol = 0; symbol < symbolCount; symbol++) nextOfSymbol[symbol] = weights[symbol]!;
  for (let state = 0; state < size; state++) {
    const next = nextOfSymbol[symbolOfState[state]!]!++;
    const count = tableLog - (31 - Math.clz32(next));
    steps[state] = (((next << count) - size) << 4) | count;
  }
}

const nextState = new Uint16Array(1 << MAX_TABLE_LOG);
const firstState = new Int32Array(256);
/**
 * For each symbol, two numbers in one: the largest number of bits that it writes, times 2^16, minus the lowest state
 * from which it writes that many bits. Adding a lower state to this offset borrows from the number of bits, which makes
 * it one lower. With two tables and a comparison instead, encoding would take twice as long: 5.0 instead of 2.5 ns for
 * each symbol.
 */
const countOffset = new Int32Array(256);

/**
 * Encodes `symbols[0, count)`. A tANS decoder yields symbols in the reverse of the order in which they were encoded. So
 * the encoder starts with the last symbol, and readers get the first symbol first.
 *
 * @param weights the weight of each symbol, at least 1; their sum is 2^tableLog
 * @param steps receives `bits << 4 | count` for each symbol: the bits that the decoder reads after it
 * @returns the state in which the decoder must begin; it ends in state 0
 */
export function encodeStates(
  symbols: Uint8Array,
  count: number,
  weights: ArrayLike<number>,
  symbolCount: number,
  tableLog: number,
  steps: Uint16Array,
): number {
  spreadSymbols(weights, symbolCount, tableLog);
  const size = 1 << tableLog;
  let total = 0;
  for (let symbol = 0; symbol < symbolCount; symbol++) {
    const weight = weights[symbol]!;
    nextOfSymbol[symbol] = total;
    const most = tableLog - (31 - Math.clz32(weight));
    // Writing the lowest `most` bits of a state leaves a rest of at least `weight` and below `2 * weight`.
    // From a state below `weight << most`, one bit fewer is written.
    countOffset[symbol] = (most << 16) - (weight << most);
    firstState[symbol] = total - weight;
    total += weight;
  }
  for (let state = 0; state < size; state++) nextState[nextOfSymbol[symbolOfState[state]!]!++] = size + state;
  let state = size;
  for (let i = count - 1; i >= 0; i--) {
    const symbol = symbols[i]!;
    const bitCount = (state + countOffset[symbol]!) >> 16;
    steps[i] = ((state & ((1 << bitCount) - 1)) << 4) | bitCount;
    state = nextState[(state >> bitCount) + firstState[symbol]!]!;
  }
  return state - size;
}
