import { useMemo, useState } from 'preact/hooks';
import type { Unit } from '../graphs/graphs';
import { QueryGraph } from '../graphs/query-graph';
import { formatTime } from '../view/format';
import type { Span, TimeRange } from '../view/time-range';
import { encodeState, hiddenWith } from '../view/view-state';
import type { AlertCardProps } from './alert-card';
import { activeSpan, graphSpan, queryOfAlert } from './alert-query';

/** Height of the plot, in pixels. */
const HEIGHT = 160;

/**
 * A graph of the series that an alert is about, with the threshold. The time in which the alert was active is
 * shaded.
 */
export function AlertGraph(props: AlertCardProps & { readonly unit: Unit }) {
  const { api, state, listed, nowS, unit, returns, onAnswer } = props;
  const { alert, rule } = listed;
  const { condition } = rule;
  // The span that the user selected by dragging; undefined: the default span for the alert.
  const [zoom, setZoom] = useState<Span>();
  const [hidden, setHidden] = useState<readonly string[]>([]);
  const span = useMemo(() => zoom ?? graphSpan(listed, nowS), [zoom, alert.activeAt, alert.resolvedAt, nowS]);
  const active = activeSpan(listed, nowS);
  const annotations = useMemo(
    () => [{ from: active.fromS, to: active.toS, isAlert: true }],
    [active.fromS, active.toS],
  );
  const query = condition?.query ?? rule.query;
  const range = { fromS: Math.floor(span.fromS), toS: Math.ceil(span.toS) };
  return (
    <QueryGraph
      api={api}
      sourceName="alert"
      name={queryOfAlert(listed)}
      title={query}
      unit={unit}
      queriesAt={() => [{ query: queryOfAlert(listed) }]}
      annotations={annotations}
      threshold={condition?.kind === 'threshold' ? condition.threshold : undefined}
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
      onAnswer={(error) => error?.kind !== 'refused' && onAnswer(error)}
      shows={() => (
        <>
          Shaded: active from {formatTime(active.fromS, state.utc)}
          {alert.state === 'resolved' && ` to ${formatTime(active.toS, state.utc)}`}.
          {condition?.kind === 'threshold' &&
            ` Dashed: ${condition.threshold}, which the rule compares with.`}{' '}
          <a href={`#${encodeState({ ...state, view: 'explore', queries: [query], asTable: false, range })}`}>
            Explore this query
          </a>
        </>
      )}
    />
  );
}

/**
 * A range that follows the present. The constant stands for all such ranges, because another object would
 * cause another read.
 */
const FOLLOWS: TimeRange = { lastS: 3600 };
