import { ByteReader, MalformedBytesError } from './bytes';
import { type Id, idOf } from './id';
import type { Labels } from './labels';
import { checkFormat } from './layout-bytes';

/**
 * A shape: a layout without the labels that all of its series share. Hosts with the same agent have layouts of one
 * shape. The series of a whole fleet can therefore be stored as a few shapes, plus the shared labels and shape ids of
 * each source.
 */
export interface Shape {
  readonly id: Id;
  readonly seriesCount: number;
  /** Names of the labels in which series differ. */
  readonly names: readonly string[];
  /**
   * For every series, calls `visit` for each label whose name is in `names`. Passes the series' column, the index of
   * the label's name in `names`, and the label's value.
   */
  readonly pairs: (visit: (column: number, name: number, value: string) => void) => void;
}

/** Reads the labels that all series of a layout share from the layout's bytes. */
export function commonLabels(bytes: Uint8Array): Labels {
  return readCommon(new ByteReader(bytes)).common;
}

function readCommon(reader: ByteReader): { readonly seriesCount: number; readonly common: Labels } {
  checkFormat(reader.byte());
  const seriesCount = reader.count(1);
  const common = Array.from({ length: reader.count(2) }, () => [reader.text(), reader.text()] as const);
  return { seriesCount, common };
}

/** Returns the shape of a layout, and the labels that all of its series share. */
export function shapeOf(bytes: Uint8Array): { readonly common: Labels; readonly shape: Shape } {
  const reader = new ByteReader(bytes);
  const { seriesCount, common } = readCommon(reader);
  const rest = bytes.subarray(reader.offset);
  const names = Array.from({ length: reader.count(1) }, () => reader.text());
  const seriesStart = reader.offset;
  const pairs: Shape['pairs'] = (visit) => {
    const series = new ByteReader(bytes, seriesStart);
    for (let column = 0; column < seriesCount; column++)
      for (let left = series.count(2); left > 0; left--) {
        const name = series.uvarint();
        if (name >= names.length) throw new MalformedBytesError(`label name ${name} of ${names.length}`);
        visit(column, name, series.text());
      }
  };
  return { common, shape: { id: idOf('shape', String(seriesCount), rest), seriesCount, names, pairs } };
}
