import { useMemo } from 'preact/hooks';
import { type LabelMap, readTable } from '../api/promql-results';
import { useReading } from '../graphs/use-reading';
import { counted } from '../view/format';
import type { Span } from '../view/time-range';
import { Problem, unlessRefused, WidgetCard, type WidgetProps } from './widget-card';
import { legendOf, queryAt, valueText } from './widget-queries';

/** Maximum number of rows that are shown. */
const MAX_ROWS = 100;
/** Length of the step that `$__interval` stands for, in seconds. */
const STEP_S = 60;

/** The current values of a query, as a table. */
export function TableWidget(
  props: WidgetProps<'graph'> & { readonly query: string; readonly legend: string | null | undefined },
) {
  const { api, widget, state, span, returns, onSettled } = props;
  const query = queryAt(props.query, STEP_S, span);
  const { reading, error } = useReading(
    { range: state.range, span, compareS: undefined, returns, onSettled: unlessRefused(onSettled) },
    props.query,
    (during: Span, signal) => readTable(api, query, during, signal),
    true,
  );
  const columns = useMemo(() => columnsOf(reading?.rows ?? []), [reading]);
  const nameOf = legendOf(props.legend);
  const rows = reading?.rows.slice(0, MAX_ROWS) ?? [];
  return (
    <WidgetCard title={widget.title || props.query} isWaiting={reading === undefined && error === undefined}>
      {error !== undefined && <Problem>{error}</Problem>}
      {reading === undefined ? (
        error === undefined && <p class="note">reading …</p>
      ) : rows.length === 0 ? (
        <p class="note">No series. The query matches nothing at the end of this range.</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard user can scroll the table
        <section class="table" tabIndex={0} aria-label={`${widget.title || props.query}, values`}>
          <table>
            <thead>
              <tr>
                {nameOf === undefined ? columns.map((each) => <th key={each}>{each}</th>) : <th>series</th>}
                <th class="amount">value</th>
              </tr>
            </thead>
            <tbody>
              {rows.map(({ labels, value }) => (
                <tr key={JSON.stringify(labels)}>
                  {nameOf === undefined ? (
                    columns.map((each) => <td key={each}>{labels[each] ?? ''}</td>)
                  ) : (
                    <td>{nameOf(labels)}</td>
                  )}
                  <td class="amount">{valueText(value)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {reading !== undefined && reading.rows.length > MAX_ROWS && (
        <p class="note">
          The greatest {MAX_ROWS} of {counted(reading.rows.length, 'series', 'series')}.
        </p>
      )}
    </WidgetCard>
  );
}

/** Returns the labels of all series, the name first. */
function columnsOf(rows: readonly { readonly labels: LabelMap }[]): string[] {
  const names = new Set(rows.slice(0, MAX_ROWS).flatMap(({ labels }) => Object.keys(labels)));
  return [...names].sort((a, b) => Number(b === '__name__') - Number(a === '__name__') || (a < b ? -1 : 1));
}
