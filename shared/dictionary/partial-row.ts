import { isPresent, presenceBytes } from '../codec';
import type { GroupRow } from './home';

/** Collects the values of a row that go into one group. */
export class PartialRow {
  private readonly presence: Uint8Array;
  /**
   * Values by column. A column that is not present still has the value of an earlier row, since the buffer is reused.
   */
  private readonly bits: BigUint64Array;
  /** Number of columns that are present. */
  private count = 0;

  /**
   * @param columns number of series in the group's layout
   * @param nth index among the partial rows that are in use at the same time. Each index has its own buffer
   */
  constructor(
    private readonly columns: number,
    nth: number,
  ) {
    this.presence = new Uint8Array(presenceBytes(columns));
    this.bits = scratchFor(nth, columns);
  }

  /** Sets the value of a column. If a series occurs twice, its last value counts. */
  set(column: number, bits: bigint): void {
    this.bits[column] = bits;
    const at = column >> 3;
    const before = this.presence[at]!;
    const after = before | (1 << (column & 7));
    if (after === before) return;
    this.presence[at] = after;
    this.count++;
  }

  finish(): Pick<GroupRow, 'presence' | 'values'> {
    const { bits, presence, columns, count } = this;
    const isWhole = count === columns;
    if (!isWhole)
      for (let column = 0, at = 0; at < count; column++)
        if (isPresent(presence, column)) bits[at++] = bits[column]!;
    // Lambda's processors are little-endian, and so are records.
    const values = new Uint8Array(bits.slice(0, count).buffer);
    return isWhole ? { values } : { presence, values };
  }
}

/**
 * Reused buffers for the values of a row by column, one for each group of the row. A row with few values may
 * have large layouts, so new buffers for all rows would take megabytes.
 */
const scratch: BigUint64Array[] = [];

function scratchFor(nth: number, columns: number): BigUint64Array {
  let bits = scratch[nth];
  if (bits === undefined || bits.length < columns) {
    bits = new BigUint64Array(columns);
    scratch[nth] = bits;
  }
  return bits;
}
