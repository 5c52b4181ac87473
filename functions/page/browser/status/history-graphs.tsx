import { useMemo } from 'preact/hooks';
import type { GraphUnit } from '../../../../shared/registry/graph-units';
import type { Status } from '../api/status';
import { drawingOf } from '../graphs/drawing';
import { GraphPanel } from '../graphs/graph-panel';
import type { SeriesData } from '../graphs/plot-data';
import { daysOverTime, figureOverTime, type History } from './history';

export interface HistoryGraphsProps {
  readonly history: History;
  readonly days: Status['usage']['days'];
  readonly utc: boolean;
}

const DAY_S = 86_400;
/** Height of a plot, in pixels. */
const HEIGHT = 120;

/** Graphs of ingest, reads and lag: since this view was first opened, and by day. */
export function HistoryGraphs({ history, days, utc }: HistoryGraphsProps) {
  const first = history.observations[0]?.timeS ?? 0;
  const last = history.observations.at(-1)?.timeS ?? 0;
  const live = { span: { fromS: Math.min(first, last - 300), toS: last }, utc };
  const byDay = daysOverTime(days, 'samples');
  const daily = {
    span: { fromS: (byDay.times[0] ?? 0) - DAY_S, toS: (byDay.times.at(-1) ?? 0) + DAY_S },
    // Days are in UTC.
    utc: true,
  };
  return (
    <section aria-labelledby="history">
      <h2 id="history">History</h2>
      <p class="note">
        The minutes since you first opened this view, at most an hour, then the days of the last four weeks.
      </p>
      <div class="cards">
        <Figure {...live} title="Samples in" unit="iops" data={figureOverTime(history, 'samples')} />
        <Figure {...live} title="Stream lag" unit="seconds" data={figureOverTime(history, 'lagS')} />
        <Figure {...live} title="Reads" unit="iops" data={figureOverTime(history, 'reads')} />
        <Figure {...daily} title="Samples in, by day" unit="integer" data={byDay} />
        <Figure {...daily} title="Reads, by day" unit="integer" data={daysOverTime(days, 'reads')} />
      </div>
    </section>
  );
}

interface FigureProps {
  readonly title: string;
  readonly unit: GraphUnit;
  readonly data: SeriesData;
  readonly span: { readonly fromS: number; readonly toS: number };
  readonly utc: boolean;
}

function Figure({ title, unit, data, span, utc }: FigureProps) {
  // Memoized, because a new object would redraw the graph on each update.
  const graph = useMemo(() => {
    const line = { id: title, label: title, isStacked: true, source: NO_SOURCE, metric: title };
    return { name: title, title, unit, lines: [line], path: [title] };
  }, [title, unit]);
  return (
    <GraphPanel
      sourceName="status"
      graph={graph}
      drawing={drawingOf(graph, data, undefined, 0, 'each')}
      span={span}
      utc={utc}
      hidden={NONE}
      compareS={undefined}
      annotations={NONE}
      height={HEIGHT}
      error={undefined}
      empty="Nothing yet."
      footer={() => null}
      onHide={ignore}
      onZoom={ignore}
      onZoomOut={ignore}
    />
  );
}

const NO_SOURCE = { kind: 'labels', id: '' } as const;
const NONE: readonly never[] = [];
const ignore = () => {};
