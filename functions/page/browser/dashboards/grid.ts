import { useEffect, useState } from 'preact/hooks';
import type { WidgetLayout } from '../../../../shared/registry/dashboard';
import { COLUMNS } from '../../../../shared/registry/dashboard-limits';

/** Heights of a row and of the gap between two rows, in pixels. dashboards.css has the same values. */
export const ROW = 26;
export const GAP = 8;
/** Height of a graph's card without its plot (title, legend, padding), in pixels. */
const AROUND_PLOT = 100;
const MIN_PLOT = 90;
/** Height of a plot on a phone, where widgets are in a single column, in pixels. */
export const PHONE_PLOT = 190;

/** Returns the style of a widget in its place of the grid. */
export function placeStyle({ x, y, width, height }: WidgetLayout) {
  const column = Math.min(x, COLUMNS - 1);
  return {
    gridColumn: `${column + 1} / span ${Math.max(1, Math.min(width, COLUMNS - column))}`,
    gridRow: `${y + 1} / span ${Math.max(1, height)}`,
  };
}

export function plotHeight({ height }: WidgetLayout): number {
  return Math.max(MIN_PLOT, height * (ROW + GAP) - GAP - AROUND_PLOT);
}

/** Whether the window is wide enough for several columns. */
export function useIsWide(): boolean {
  const [query] = useState(() => matchMedia('(min-width: 700px)'));
  const [isWide, setWide] = useState(query.matches);
  useEffect(() => {
    const changed = () => setWide(query.matches);
    query.addEventListener('change', changed);
    return () => query.removeEventListener('change', changed);
  }, []);
  return isWide;
}
