import { type Block, blockFromFrames, type Frame, relayout } from '../codec';
import { idText } from './id';
import { type Layout, positionsIn } from './layout';

/** Gathers frames of several layouts into one block. The block's layout, `merged`, has the series of all layouts. */
export function gather(merged: Layout, layouts: readonly Layout[], frames: readonly Frame[]): Block {
  const positions = new Map(
    layouts.map((layout) => [layout.id, layout.id === merged.id ? undefined : positionsIn(layout, merged)]),
  );
  return blockFromFrames(
    merged.idBytes,
    merged.series.length,
    frames.map((frame) => ({ frame, positions: positions.get(idText(frame.layout)) })),
  );
}

/** Moves a block from the layout `from` to the layout `to`, which must have all series of `from`. */
export function inLayout(block: Block, from: Layout, to: Layout): Block {
  return from.id === to.id ? block : relayout(block, to.idBytes, to.series.length, positionsIn(from, to));
}
