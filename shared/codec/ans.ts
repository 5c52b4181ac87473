/**
 * Table-driven asymmetric numeral systems (tANS): symbols of known weights in close to their entropy, one
 * table look-up and one shift each.
 *
 * @see J. Duda, Asymmetric numeral systems, arXiv:1311.2540; Y. Collet's Finite State Entropy, RFC 8878 4.1,
 *   whose way of spreading symbols over the states this follows
 */

/** Weights sum up to 2^tableLog, which is at most this. */
export const MAX_TABLE_LOG = 11;

const symbolOfState = new Uint8Array(1 << MAX_TABLE_LOG);
const nextOfSymbol = new Uint16Array(256);

/** Fills `symbolOfState`: each symbol has as many states as its weight, far from one another. */
function spreadSymbols(weights: ArrayLike<number>, symbolCount: number, tableLog: number): void {
  const size = 1 << tableLog;
  // Odd, so that every state is met once.
  const step = ((size >> 1) + (size >> 3) + 3) | 1;
  let state = 0;
  for (let symbol = 0; symbol < symbolCount; symbol++) {
    for (let i = weights[symbol]!; i > 0; i--) {
      symbolOfState[state] = symbol;
      state = (state + step) & (size - 1);
    }
  }
}

/** The decoder's table, indexed by state. */
export interface DecodeTable {
  /** The symbol of each state. */
  readonly symbols: Uint8Array;
  /** For each state `base << 4 | count`: the next state is `base` plus the next `count` bits. */
  readonly steps: Uint16Array;
}

/** One table, filled anew for each sequence. */
export const decodeTable: DecodeTable = {
  symbols: symbolOfState,
  steps: new Uint16Array(1 << MAX_TABLE_LOG),
};

/** @param weights at least 1 each, with the sum 2^tableLog */
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
const countOffset = new Int32Array(256);

/**
 * Runs the coder over `symbols[0, count)` from the last to the first, so that the decoder runs forward.
 *
 * @param steps receives for each symbol `bits << 4 | count`, what the decoder reads after it
 * @returns the state the decoder begins with; it ends with 0
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
    // A state x reaches weight..2 weight - 1 by giving off `most` bits, or one fewer below weight << most.
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
