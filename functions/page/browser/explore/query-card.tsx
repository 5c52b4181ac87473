import { useId, useMemo } from 'preact/hooks';
import type { Api } from '../api/api';
import { type LabelMap, readTable, seriesText, type TableResult } from '../api/promql-results';
import { csvOfRows } from '../graphs/csv';
import { download, fileName } from '../graphs/download';
import type { GraphPanelView } from '../graphs/graph-panel';
import { measuredProps, WayChoice } from '../graphs/measured';
import type { Metadata } from '../graphs/metadata';
import { QueryGraph } from '../graphs/query-graph';
import { unitOfQuery } from '../graphs/query-unit';
import { csvBlob } from '../graphs/save-buttons';
import { type ReadingProps, useReading } from '../graphs/use-reading';
import { measureOf, type Way, wayOf } from '../graphs/ways';
import { Breakable } from '../view/breakable';
import { counted, formatTime } from '../view/format';
import { AlertList } from './alert-list';
import { type AlertSpan, alertsOfSeries } from './alert-spans';
import { Explanation } from './explanation';

/**
 * Give cards of different queries different values of `key`. Otherwise a card could show the response to an
 * earlier query.
 */
export interface QueryCardProps extends ReadingProps, GraphPanelView {
  readonly api: Api;
  readonly query: string;
  readonly asTable: boolean;
  readonly showsTiers: boolean;
  /** Metadata of metrics; undefined until they have been read. */
  readonly metadata: Metadata | undefined;
  /** How a counter or histogram is shown; undefined for the default way. */
  readonly way: string | undefined;
  readonly onWay: (way: Way) => void;
  /** When alerts fired; undefined until it has been read. */
  readonly alerts: readonly AlertSpan[] | undefined;
}

/** The result of a query: series over time, or values at the end of the range. */
export function QueryCard(props: QueryCardProps) {
  return (
    <>
      {props.asTable ? <TableCard {...props} /> : <PlotCard {...props} />}
      <Explanation {...props} />
    </>
  );
}

const NO_ANNOTATIONS: readonly never[] = [];
const NO_ALERTS: readonly never[] = [];
/** Prefix of the names of saved files. */
const SOURCE = 'explore';

function PlotCard(props: QueryCardProps) {
  const { query, metadata, alerts = NO_ALERTS } = props;
  const annotationsOf = useMemo(
    () => (series: readonly LabelMap[]) =>
      alertsOfSeries(alerts, series).map(({ from, to }) => ({ from, to, isAlert: true })),
    [alerts],
  );
  const measure = useMemo(() => metadata && measureOf(query, metadata), [query, metadata]);
  const way = measure && wayOf(measure, props.way);
  return (
    <QueryGraph
      {...props}
      key={way}
      sourceName={SOURCE}
      name={query}
      title={query}
      unit={unitOfQuery(query, metadata)}
      queriesAt={() => [{ query }]}
      annotations={NO_ANNOTATIONS}
      annotationsOf={annotationsOf}
      remark={(series) => <AlertList alerts={alertsOfSeries(alerts, series)} utc={props.utc} />}
      height={tallHeight()}
      isWanted={metadata !== undefined}
      {...(measure !== undefined && way !== 'stored' && measuredProps(measure, way!, props.onWay, query))}
      {...(measure !== undefined &&
        way === 'stored' && {
          controls: <WayChoice measure={measure} title={query} way={way} onWay={props.onWay} />,
        })}
    />
  );
}

/** Height of a full-width plot, in pixels: a large part of the screen, on a phone too. */
function tallHeight(): number {
  return Math.round(Math.min(520, Math.max(240, innerHeight * 0.45)));
}

/** Maximum number of rows that are shown, since nobody reads a table of thousands. */
const MAX_ROWS = 500;

function TableCard(props: QueryCardProps) {
  const { api, query, utc } = props;
  const { reading, error } = useReading<TableResult>(
    { ...props, compareS: undefined },
    query,
    (during, signal) => readTable(api, query, during, signal),
    true,
  );
  const titleId = useId();
  return (
    <article class="card" aria-labelledby={titleId} aria-busy={reading === undefined && error === undefined}>
      <header>
        <h2 id={titleId}>
          <Breakable text={query} />
        </h2>
        {reading !== undefined && (
          <>
            <span class="at">{formatTime(reading.atS, utc).slice(5)}</span>
            <span class="actions">
              <button
                type="button"
                class="quiet"
                aria-label={`Save ${query} as CSV`}
                onClick={() => download(fileName(SOURCE, query, '.csv'), csvBlob(csvOfRows(reading.rows)))}
              >
                CSV
              </button>
            </span>
          </>
        )}
      </header>
      {error !== undefined && (
        <p class="note alert" role="alert">
          {error}
        </p>
      )}
      {reading === undefined && error === undefined && <p class="note">reading …</p>}
      {reading !== undefined && reading.rows.length === 0 && <p class="note">No series at this time.</p>}
      {reading !== undefined && reading.rows.length > 0 && <Rows titleId={titleId} rows={reading.rows} />}
      {reading !== undefined && reading.rows.length > MAX_ROWS && (
        <p class="note">
          The first {MAX_ROWS} of {counted(reading.rows.length, 'series', 'series')}. The CSV file has all.
        </p>
      )}
      <Warnings texts={reading?.warnings ?? []} />
    </article>
  );
}

function Rows({ titleId, rows }: { readonly titleId: string; readonly rows: TableResult['rows'] }) {
  return (
    <div class="rows">
      <table aria-labelledby={titleId}>
        <thead>
          <tr>
            <th scope="col">series</th>
            <th scope="col">value</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MAX_ROWS).map(({ labels, value }) => (
            <tr key={seriesText(labels)}>
              <td>
                <Breakable text={seriesText(labels)} />
              </td>
              <td>{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Warnings({ texts }: { readonly texts: readonly string[] }) {
  return (
    <>
      {texts.map((text) => (
        <p key={text} class="note">
          {text}
        </p>
      ))}
    </>
  );
}
