import { type Block, blockFromFrames, type Frame, relayout } from '../codec';
import { idText } from './id';
import { type Layout, positionsIn } from './layout';

/** Gathers frames of several layouts into one block of the union's columns. */
export function gather(union: Layout, layouts: readonly Layout[], frames: readonly Frame[]): Block {
  const positions = new Map(
    layouts.map((layout) => [layout.id, layout.id === union.id ? undefined : positionsIn(layout, union)]),
  );
  return blockFromFrames(
    union.idBytes,
    union.series.length,
    frames.map((frame) => ({ frame, positions: positions.get(idText(frame.layout)) })),
  );
}

/** Moves a block of layout `from` to the columns of `to`, which has all series of `from`. */
export function inLayout(block: Block, from: Layout, to: Layout): Block {
  return from.id === to.id ? block : relayout(block, to.idBytes, to.series.length, positionsIn(from, to));
}
