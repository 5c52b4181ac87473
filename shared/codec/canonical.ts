/**
 * The canonical form of a block. In this form, two blocks with the same samples are equal field by field.
 * The result of merging therefore does not depend on the order of merges.
 *
 * - Every row has a value in some column.
 * - A row's version is the most frequent version among its values, or the lowest such version if several are equally
 *   frequent.
 * - `Column.rows` is present only if the column has no value in some row.
 * - `Column.versions` is present only if the version of some value in the column differs from its row's version.
 * - Every listed version is the version of some row or value.
 */
import type { Block, Column, Version } from './model';

/** A column of a {@link BlockDraft}. A cell is a value with its row and version. */
export interface Cells {
  /** The row of each value, ascending; absent if every row has a value. */
  readonly rows?: Uint32Array | undefined;
  readonly values: Float64Array;
  /** The version of each value, as an index; absent if every value has its row's version. */
  readonly versions?: Uint32Array | undefined;
}

/** A {@link Block} under construction, which need not be canonical. */
export interface BlockDraft {
  readonly layout: Uint8Array;
  /** The rows: ascending and distinct, as Unix time in ms. */
  readonly timestamps: Float64Array;
  /** Ascending and distinct. Some may be unused. */
  readonly versions: readonly Version[];
  /** The version of each row, as an index. It applies to the cells of columns that have no `versions`. */
  readonly rowVersions: Uint32Array;
  readonly cells: readonly Cells[];
}

/**
 * Returns a view of float64 values as 32-bit halves. Use the view to move values, because JavaScript may change the
 * bits of a NaN that is read as a number.
 */
export function bitHalvesOf(values: Float64Array): Uint32Array {
  return new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
}

/** Returns a draft in the canonical form. The block may share arrays with the draft. */
export function canonicalBlock(draft: BlockDraft): Block {
  return withUsedVersions(withRowVersions(withoutEmptyRows(draft)));
}

function withoutEmptyRows(draft: BlockDraft): BlockDraft {
  const rowCount = draft.timestamps.length;
  if (rowCount === 0 || draft.cells.some((column) => column.values.length === rowCount)) return draft;
  const used = new Uint8Array(rowCount);
  let usedCount = 0;
  for (const { rows } of draft.cells) {
    for (let i = 0; i < rows!.length && usedCount < rowCount; i++) {
      const row = rows![i]!;
      if (used[row] === 0) {
        used[row] = 1;
        usedCount++;
      }
    }
    if (usedCount === rowCount) return draft;
  }
  const newRow = new Uint32Array(rowCount);
  const timestamps = new Float64Array(usedCount);
  const rowVersions = new Uint32Array(usedCount);
  for (let row = 0, next = 0; row < rowCount; row++) {
    if (used[row] === 0) continue;
    newRow[row] = next;
    timestamps[next] = draft.timestamps[row]!;
    rowVersions[next++] = draft.rowVersions[row]!;
  }
  const cells = draft.cells.map((column) => ({ ...column, rows: column.rows!.map((row) => newRow[row]!) }));
  return { ...draft, timestamps, rowVersions, cells };
}

/**
 * Gives each row its most frequent version. A column keeps its versions only if the version of some value differs from
 * its row's version.
 */
function withRowVersions(draft: BlockDraft): BlockDraft {
  if (draft.cells.every((column) => column.versions === undefined)) return draft;
  const rowVersions = frequentVersions(draft);
  const cells = draft.cells.map((column): Cells => {
    const { rows, values } = column;
    const versions = cellVersions(column, draft.rowVersions);
    for (let i = 0; i < versions.length; i++) {
      if (versions[i] !== rowVersions[rows === undefined ? i : rows[i]!]) return { rows, values, versions };
    }
    return { rows, values };
  });
  return { ...draft, rowVersions, cells };
}

/** Returns the version of each value of a column, as an index. */
function cellVersions(column: Cells, rowVersions: Uint32Array): Uint32Array {
  if (column.versions !== undefined) return column.versions;
  return column.rows === undefined ? rowVersions : column.rows.map((row) => rowVersions[row]!);
}

/**
 * Finds the most frequent version of each row. First lays the cells out row by row, then counts one row at a time. So
 * it needs one counter for each version, not one for each version in each row.
 */
function frequentVersions(draft: BlockDraft): Uint32Array {
  const rowCount = draft.timestamps.length;
  const ends = new Uint32Array(rowCount);
  for (const { rows } of draft.cells) {
    if (rows === undefined) for (let row = 0; row < rowCount; row++) ends[row]!++;
    else for (let i = 0; i < rows.length; i++) ends[rows[i]!]!++;
  }
  let total = 0;
  for (let row = 0; row < rowCount; row++) {
    const count = ends[row]!;
    ends[row] = total;
    total += count;
  }
  const byRow = new Uint32Array(total);
  for (const column of draft.cells) {
    const { rows, versions } = column;
    for (let i = 0; i < column.values.length; i++) {
      const row = rows === undefined ? i : rows[i]!;
      byRow[ends[row]!++] = versions === undefined ? draft.rowVersions[row]! : versions[i]!;
    }
  }
  const counts = new Uint32Array(draft.versions.length);
  const result = new Uint32Array(rowCount);
  for (let row = 0, start = 0; row < rowCount; row++) {
    const end = ends[row]!;
    for (let i = start; i < end; i++) counts[byRow[i]!]!++;
    let best = byRow[start]!;
    for (let i = start + 1; i < end; i++) {
      const version = byRow[i]!;
      if (counts[version]! > counts[best]! || (counts[version] === counts[best] && version < best)) {
        best = version;
      }
    }
    for (let i = start; i < end; i++) counts[byRow[i]!] = 0;
    result[row] = best;
    start = end;
  }
  return result;
}

function withUsedVersions(draft: BlockDraft): Block {
  const { layout, timestamps, versions, rowVersions, cells } = draft;
  const used = new Uint8Array(versions.length);
  // Count the versions of rows too: a row's version need not occur in any column's `versions`.
  for (let row = 0; row < rowVersions.length; row++) used[rowVersions[row]!] = 1;
  for (const column of cells) {
    if (column.versions !== undefined) for (const version of column.versions) used[version] = 1;
  }
  if (!used.includes(0)) {
    return { layout, timestamps, versions, rowVersions, columns: cells.map(asColumn(timestamps)) };
  }
  const newVersion = new Uint32Array(versions.length);
  const kept: Version[] = [];
  for (let i = 0; i < versions.length; i++) {
    newVersion[i] = kept.length;
    if (used[i] === 1) kept.push(versions[i]!);
  }
  const renumber = (version: number): number => newVersion[version]!;
  const columns = cells.map((column) =>
    asColumn(timestamps)({ ...column, versions: column.versions?.map(renumber) }),
  );
  return { layout, timestamps, versions: kept, rowVersions: rowVersions.map(renumber), columns };
}

/**
 * Builds a column that has no keys for absent fields. Tests compare blocks with `toEqual`, which would notice such
 * keys.
 */
const asColumn =
  (timestamps: Float64Array) =>
  ({ rows, values, versions }: Cells): Column => ({
    ...(rows !== undefined && rows.length < timestamps.length ? { rows } : {}),
    values,
    ...(versions !== undefined ? { versions } : {}),
  });
