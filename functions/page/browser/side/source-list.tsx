import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { formatCount } from '../view/format';
import type { SourceRef } from '../view/view-state';
import type { SourceEntry, SourceSection } from './sources';

export interface SourceListProps {
  readonly sections: readonly SourceSection[];
  readonly current: SourceRef | undefined;
  readonly hrefOf: (source: SourceRef) => string;
  readonly onFollow: () => void;
}

/** Height of a row, in pixels. `side.css` has the same value. */
const ROW_HEIGHT = 30;
/** Number of rows rendered above and below the visible ones, so that the keyboard can reach them. */
const MARGIN_ROWS = 10;

type Row = SourceEntry | { readonly title: string };

/**
 * The list of sources as links. It renders only visible rows, so that a list of thousands of sources costs no more than
 * a short one.
 */
export function SourceList({ sections, current, hrefOf, onFollow }: SourceListProps) {
  const rows: Row[] = sections.flatMap(({ title, entries }) => [
    { title: `${title} ${formatCount(entries.length)}` },
    ...entries,
  ]);
  const isCurrent = (row: Row) =>
    'source' in row && row.source.kind === current?.kind && row.source.id === current.id;
  const list = useRef<HTMLElement>(null);
  const [{ top, height }, setWindow] = useState({ top: 0, height: 1000 });
  const look = () => {
    // The observer may be called after the list was removed.
    if (list.current === null) return;
    const { scrollTop, clientHeight } = list.current;
    setWindow((old) =>
      old.top === scrollTop && old.height === clientHeight ? old : { top: scrollTop, height: clientHeight },
    );
  };
  useEffect(() => {
    const resizing = new ResizeObserver(look);
    resizing.observe(list.current!);
    return () => resizing.disconnect();
  }, []);
  const currentRow = rows.findIndex(isCurrent);
  useLayoutEffect(() => {
    const at = currentRow * ROW_HEIGHT;
    const { scrollTop, clientHeight } = list.current!;
    if (currentRow >= 0 && (at < scrollTop || at + ROW_HEIGHT > scrollTop + clientHeight))
      list.current!.scrollTop = at - clientHeight / 3;
    look();
  }, [current?.kind, current?.id, currentRow >= 0]);

  const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - MARGIN_ROWS);
  const end = Math.min(rows.length, Math.ceil((top + height) / ROW_HEIGHT) + MARGIN_ROWS);
  return (
    <nav
      class="sources"
      aria-label="Hosts and services"
      style={{ '--rows': rows.length }}
      ref={list}
      onScroll={look}
    >
      <ul
        style={{
          paddingTop: `${Math.min(first, rows.length) * ROW_HEIGHT}px`,
          paddingBottom: `${Math.max(0, rows.length - end) * ROW_HEIGHT}px`,
        }}
      >
        {rows.slice(first, end).map((row, i) =>
          'source' in row ? (
            <li
              key={`${row.source.kind} ${row.source.id}`}
              aria-setsize={rows.length}
              aria-posinset={first + i + 1}
            >
              <a
                class={row.isInner ? 'inner' : ''}
                href={hrefOf(row.source)}
                title={row.note === '' ? row.label : `${row.label} (${row.note})`}
                aria-current={isCurrent(row) ? 'page' : undefined}
                onClick={onFollow}
              >
                <span>{row.label}</span>
                {row.note !== '' && <small>{row.note}</small>}
              </a>
            </li>
          ) : (
            <li key={row.title}>
              <h2>{row.title}</h2>
            </li>
          ),
        )}
      </ul>
    </nav>
  );
}
