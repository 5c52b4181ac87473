import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Widget } from '../../../../shared/registry/dashboard';
import { COLUMNS } from '../../../../shared/registry/dashboard-limits';
import { movedBy, type Place, readingOrder, resizedBy, withPlace } from './arrangement';
import { GAP, placeStyle, ROW } from './grid';

interface EditedGridProps {
  readonly widgets: readonly Widget[];
  readonly isWide: boolean;
  /** Renders a widget's content. */
  readonly render: (widget: Widget) => ComponentChildren;
  readonly onArrange: (widgets: readonly Widget[]) => void;
  readonly onChange: (at: number) => void;
  readonly onRemove: (at: number) => void;
}

/** What the pointer drags: a widget, or its lower right corner. */
interface Drag {
  readonly at: number;
  readonly by: typeof movedBy;
  /** Position of the pointer when the drag began, in pixels of the document. */
  readonly fromX: number;
  readonly fromY: number;
}

/** Columns and rows by which an arrow key moves a widget or its corner. */
const STEPS: Readonly<Record<string, readonly [columns: number, rows: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/**
 * Widgets that are moved and resized by pointer or by arrow keys. On a narrow screen with a single column,
 * widgets cannot be dragged; their forms can change their places.
 */
export function EditedGrid({ widgets, isWide, render, onArrange, onChange, onRemove }: EditedGridProps) {
  const list = useRef<HTMLUListElement>(null);
  const drag = useRef<Drag | undefined>(undefined);
  const [dragged, setDragged] = useState<readonly Widget[]>();
  const [spoken, setSpoken] = useState('');
  const shown = dragged ?? widgets;

  const begin = (event: PointerEvent, at: number, by: typeof movedBy) => {
    if (event.button !== 0) return;
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    drag.current = { at, by, fromX: event.pageX, fromY: event.pageY };
  };
  const move = (event: PointerEvent) => {
    const { at, by, fromX, fromY } = drag.current ?? {};
    if (at === undefined || by === undefined) return;
    const columnWidth = (list.current!.clientWidth + GAP) / COLUMNS;
    const [columns, rows] = [(event.pageX - fromX!) / columnWidth, (event.pageY - fromY!) / (ROW + GAP)];
    setDragged(withPlace(widgets, at, by(widgets[at]!.layout, Math.round(columns), Math.round(rows))));
  };
  const end = (isKept: boolean) => {
    const { at } = drag.current ?? {};
    drag.current = undefined;
    setDragged(undefined);
    if (!isKept || at === undefined || dragged === undefined) return;
    if (dragged.some((each, i) => each !== widgets[i])) onArrange(dragged);
  };
  const press = (event: KeyboardEvent, at: number, by: typeof movedBy) => {
    if (event.key === 'Escape') return end(false);
    const step = STEPS[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const next = withPlace(widgets, at, by(widgets[at]!.layout, ...step));
    setSpoken(placeText(next[at]!.layout));
    if (next.some((each, i) => each !== widgets[i])) onArrange(next);
  };
  const handle = (at: number, by: typeof movedBy) => ({
    onPointerDown: (event: PointerEvent) => begin(event, at, by),
    onPointerMove: move,
    onPointerUp: () => end(true),
    onPointerCancel: () => end(false),
    onKeyDown: (event: KeyboardEvent) => press(event, at, by),
  });

  return (
    <>
      <p class="spoken" role="status">
        {spoken}
      </p>
      <ul class="widgets edited" ref={list}>
        {readingOrder(widgets).map((at) => {
          const widget = shown[at]!;
          const name = nameOf(widget, at);
          return (
            <li key={at} style={isWide ? placeStyle(widget.layout) : undefined}>
              <div class="handles">
                {isWide && (
                  <button
                    type="button"
                    class="move"
                    aria-label={`Move ${name}`}
                    title="Drag, or press an arrow key"
                    {...handle(at, movedBy)}
                  >
                    <span aria-hidden="true">✥</span> {name}
                  </button>
                )}
                {!isWide && <span class="move">{name}</span>}
                <button type="button" aria-label={`Change ${name}`} onClick={() => onChange(at)}>
                  Change
                </button>
                <button
                  type="button"
                  aria-label={`Remove ${name}`}
                  title="Remove"
                  onClick={() => onRemove(at)}
                >
                  ✕
                </button>
              </div>
              {render(widget)}
              {isWide && (
                <button
                  type="button"
                  class="resize"
                  aria-label={`Resize ${name}`}
                  title="Drag, or press an arrow key"
                  {...handle(at, resizedBy)}
                >
                  <span aria-hidden="true">◢</span>
                </button>
              )}
            </li>
          );
        })}
      </ul>
    </>
  );
}

const KINDS = { graph: 'graph', value: 'value', markdown: 'text', alertStatus: 'alert status' } as const;

/** Returns a widget's title, or else its kind and number. */
function nameOf({ title, type }: Widget, at: number): string {
  return title != null && title.trim() !== '' ? title.slice(0, 80) : `${KINDS[type]} ${at + 1}`;
}

function placeText({ x, y, width, height }: Place): string {
  return `Column ${x}, row ${y}, ${width} wide, ${height} high`;
}
