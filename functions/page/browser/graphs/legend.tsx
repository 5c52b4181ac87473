import { useMemo, useRef } from 'preact/hooks';
import type { GraphUnit } from '../../../../shared/registry/graph-units';
import { formatDuration, formatValue } from '../view/format';
import { seriesColor } from './colors';
import { type Drawing, spreadOf, valueAt } from './drawing';

export interface LegendProps {
  readonly title: string;
  readonly drawing: Drawing | undefined;
  readonly unit: GraphUnit;
  readonly hidden: readonly string[];
  readonly compareS: number | undefined;
  /**
   * The legend stores a function here that shows the values at an index of the data's times. Called with undefined, the
   * function shows no values.
   */
  readonly show: { current: (index: number | undefined) => void };
  readonly onHide: (id: string, isHidden: boolean) => void;
}

/** The lines of a graph with their colors and values. Pressing a line hides it. */
export function Legend({ title, drawing, unit, hidden, compareS, show, onHide }: LegendProps) {
  // Update the page directly, without rendering it again: whenever the pointer moves, the crosshair moves in all
  // graphs.
  const values = useRef(new Map<string, HTMLElement>());
  const spread = useMemo(() => drawing && spreadOf(drawing.data), [drawing]);
  show.current = (index) => {
    for (const [i, { id, isEarlier }] of (drawing?.lines ?? []).entries()) {
      const element = values.current.get(keyOf(id, isEarlier));
      if (element === undefined) continue;
      const value = valueAt(drawing!.data, i, index);
      element.textContent = value === undefined ? '–' : formatValue(value, unit, spread);
    }
  };
  const keep = (key: string) => (element: HTMLElement | null) => {
    if (element === null) values.current.delete(key);
    else values.current.set(key, element);
  };
  const earlier = compareS === undefined ? '' : `${formatDuration(compareS * 1000)} before`;
  return (
    <ul class="legend" aria-label={`Lines of ${title}`}>
      {drawing?.lines
        .filter(({ isEarlier }) => !isEarlier)
        .map(({ id, label, color }) => (
          <li key={id}>
            <button
              type="button"
              aria-pressed={!hidden.includes(id)}
              title={label === id ? id : `${label}: ${id}`}
              onClick={() => onHide(id, !hidden.includes(id))}
            >
              <i class="swatch" style={{ background: seriesColor(color) }} />
              <span class="label">{label}</span>
              <span class="value" ref={keep(keyOf(id, false))} />
              {compareS !== undefined && (
                <span class="earlier" title={earlier}>
                  <span ref={keep(keyOf(id, true))} />
                </span>
              )}
            </button>
          </li>
        ))}
    </ul>
  );
}

function keyOf(id: string, isEarlier: boolean): string {
  return `${isEarlier} ${id}`;
}
