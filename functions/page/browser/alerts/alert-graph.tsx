import { useMemo, useState } from 'preact/hooks';
import type { GraphUnit } from '../../../../shared/registry/graph-units';
import type { ViewProps } from '../frame/views';
import { QueryGraph } from '../graphs/query-graph';
import type { Span, TimeRange } from '../view/time-range';
import { encodeState, hiddenWith } from '../view/view-state';
import { graphSpan } from './alert-query';

/** Height of the plot, in pixels. */
const HEIGHT = 160;

export interface AlertGraphProps extends Pick<ViewProps, 'api' | 'state' | 'returns' | 'onSettled'> {
  /** Selects the series of this alert only. */
  readonly query: string;
  /** The query that the link to Explore opens. @default `query` */
  readonly explored?: string;
  readonly title: string;
  readonly unit: GraphUnit;
  /** The time in which the alert was active. It is shaded. */
  readonly active: Span;
  readonly isWarning?: boolean;
  /** Thresholds, drawn as dashed lines. */
  readonly warning?: number | undefined;
  readonly threshold?: number | undefined;
  /** Explains the shaded span and the dashed lines. */
  readonly text: string;
  readonly nowS: number;
}

/** A graph of the series that an alert is about, with its thresholds. */
export function AlertGraph(props: AlertGraphProps) {
  const { api, state, query, explored = query, title, unit, active, warning, threshold, text } = props;
  const { isWarning = false, nowS, returns, onSettled } = props;
  // The span that the user has selected by dragging. If undefined, the graph shows the default span of the alert.
  const [zoom, setZoom] = useState<Span>();
  const [hidden, setHidden] = useState<readonly string[]>([]);
  const span = useMemo(() => zoom ?? graphSpan(active, nowS), [zoom, active.fromS, active.toS, nowS]);
  const annotations = useMemo(
    () => [{ from: active.fromS, to: active.toS, isAlert: true, isWarning }],
    [active.fromS, active.toS, isWarning],
  );
  const range = { fromS: Math.floor(span.fromS), toS: Math.ceil(span.toS) };
  return (
    <QueryGraph
      key={query}
      api={api}
      sourceName="alert"
      name={query}
      title={title}
      unit={unit}
      queriesAt={() => [{ query }]}
      annotations={annotations}
      warning={warning}
      threshold={threshold}
      height={HEIGHT}
      showsTiers={false}
      isWanted
      range={zoom ?? FOLLOWS}
      span={span}
      compareS={undefined}
      returns={returns}
      utc={state.utc}
      hidden={hidden}
      onHide={(id, isHidden) => setHidden(hiddenWith(hidden, id, isHidden))}
      onZoom={(fromS, toS) => setZoom({ fromS, toS })}
      onZoomOut={() => setZoom(undefined)}
      onSettled={(error) => error?.kind !== 'refused' && onSettled(error)}
      shows={() => (
        <>
          {text}{' '}
          <a
            href={`#${encodeState({ ...state, view: 'explore', queries: [explored], asTable: false, range })}`}
          >
            Explore this query
          </a>
        </>
      )}
    />
  );
}

/**
 * A range that always ends now. All graphs share this object, because a new object would cause another read.
 */
const FOLLOWS: TimeRange = { lastS: 3600 };
