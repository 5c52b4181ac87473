import type { Widget, WidgetLayout } from '../../../../shared/registry/dashboard';
import { COLUMNS, MAX_HEIGHT, MAX_ROW } from '../../../../shared/registry/dashboard-limits';

export type Place = Pick<WidgetLayout, 'x' | 'y' | 'width' | 'height'>;

/** Returns the nearest place that lies within a dashboard. */
export function within({ x, y, width, height }: Place): Place {
  const column = between(x, 0, COLUMNS - 1);
  return {
    x: column,
    y: between(y, 0, MAX_ROW),
    width: between(width, 1, COLUMNS - column),
    height: between(height, 1, MAX_HEIGHT),
  };
}

/** Returns the place of a widget that was moved by some columns and rows. It keeps its size. */
export function movedBy(place: Place, columns: number, rows: number): Place {
  const { width } = within(place);
  return within({ ...place, width, x: between(place.x + columns, 0, COLUMNS - width), y: place.y + rows });
}

/** Returns the place of a widget whose lower right corner was moved by some columns and rows. */
export function resizedBy(place: Place, columns: number, rows: number): Place {
  return within({ ...place, width: place.width + columns, height: place.height + rows });
}

/** Puts a widget in a place. Widgets that are in the way move down. */
export function withPlace(widgets: readonly Widget[], at: number, place: Place): Widget[] {
  const places = widgets.map(({ layout }, i): Place => (i === at ? within(place) : layout));
  const settled: Place[] = [places[at]!];
  for (const i of readingOrder(widgets)) {
    if (i === at) continue;
    let below = places[i]!;
    for (let hit = hitBy(below, settled); hit !== undefined; hit = hitBy(below, settled))
      below = { ...below, y: hit.y + hit.height };
    places[i] = below;
    settled.push(below);
  }
  return widgets.map((widget, i) => withLayout(widget, places[i]!));
}

export function placeBelow(widgets: readonly Widget[], width: number, height: number): Place {
  const bottom = Math.max(0, ...widgets.map(({ layout }) => layout.y + layout.height));
  return within({ x: 0, y: bottom, width, height });
}

/** Returns the indexes of the widgets, ordered from top to bottom, then from left to right. */
export function readingOrder(widgets: readonly Widget[]): number[] {
  return widgets
    .map(({ layout }, i) => ({ layout, i }))
    .sort((a, b) => a.layout.y - b.layout.y || a.layout.x - b.layout.x)
    .map(({ i }) => i);
}

/** Returns the widget in another place. Keeps fields of the layout that this page does not know. */
function withLayout(widget: Widget, { x, y, width, height }: Place): Widget {
  const { layout } = widget;
  const isSame = layout.x === x && layout.y === y && layout.width === width && layout.height === height;
  return isSame ? widget : { ...widget, layout: { ...layout, x, y, width, height } };
}

function hitBy(place: Place, settled: readonly Place[]): Place | undefined {
  return settled.find(
    (each) =>
      place.x < each.x + each.width &&
      each.x < place.x + place.width &&
      place.y < each.y + each.height &&
      each.y < place.y + place.height,
  );
}

function between(value: number, min: number, max: number): number {
  return Math.max(min, Math.min(max, Math.round(value)));
}
