import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Api } from '../api/api';
import { describedBy, type Metadata } from '../graphs/metadata';
import { Breakable } from '../view/breakable';
import { counted, formatCount } from '../view/format';
import { SearchField } from '../view/search-field';
import { type FoundMetric, findMetrics } from './metric-search';

export interface MetricBrowserProps {
  readonly api: Api;
  /** Metadata of metrics; undefined until they have been read. */
  readonly metadata: Metadata | undefined;
  /** Called with an expression for the chosen metric. */
  readonly onExplore: (query: string) => void;
}

/** The page reads series counts for at most this many names: those with the most series. */
const MAX_COUNTED = 2_000;
/** Maximum number of rows that are shown. Other metrics can be found by searching. */
const MAX_ROWS = 100;

/** Lists all metrics with their type, number of series and help text, and can search them. */
export function MetricBrowser({ api, metadata, onExplore }: MetricBrowserProps) {
  const [metrics, setMetrics] = useState<readonly FoundMetric[]>();
  const [problem, setProblem] = useState<string>();
  const [search, setSearch] = useState('');
  useEffect(() => {
    const abort = new AbortController();
    readMetrics(api, abort.signal).then(
      setMetrics,
      (error: Error) => abort.signal.aborted || setProblem(error.message),
    );
    return () => abort.abort();
  }, [api]);
  const described = useMemo(
    () => metrics?.map((metric) => ({ ...metric, ...describedBy(metadata ?? new Map(), metric.name) })),
    [metrics, metadata],
  );
  if (problem !== undefined)
    return (
      <p class="note alert" role="alert">
        {problem}
      </p>
    );
  if (described === undefined) return <p class="note">reading …</p>;
  const found = findMetrics(described, search);
  return (
    <>
      <SearchField label="Search names and help" value={search} onInput={setSearch} />
      <p class="note" role="status">
        {found.length === described.length
          ? counted(found.length, 'metric')
          : `${formatCount(found.length)} of ${counted(described.length, 'metric')}`}
        {found.length > MAX_ROWS && `, the first ${MAX_ROWS} are listed`}
      </p>
      <div class="rows">
        <table aria-label="Metrics">
          <thead>
            <tr>
              <th scope="col">name</th>
              <th scope="col">type</th>
              <th scope="col">series</th>
              <th scope="col">help</th>
            </tr>
          </thead>
          <tbody>
            {found.slice(0, MAX_ROWS).map(({ name, series, type, help }) => (
              <tr key={name}>
                <td>
                  <button type="button" class="quiet" onClick={() => onExplore(selectorOf(name))}>
                    <Breakable text={name} />
                  </button>
                </td>
                <td>{type}</td>
                <td>{series === undefined ? 'few' : formatCount(series)}</td>
                <td>{help}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

async function readMetrics(api: Api, signal: AbortSignal): Promise<FoundMetric[]> {
  const [names, counts] = await Promise.all([
    api.prometheus<string[]>('label/__name__/values', {}, signal),
    api.prometheus<{ seriesCountByMetricName: { name: string; value: number }[] }>(
      'status/tsdb',
      { limit: String(MAX_COUNTED) },
      signal,
    ),
  ]);
  const seriesOf = new Map(counts.data.seriesCountByMetricName.map(({ name, value }) => [name, value]));
  return names.data.map((name) => ({ name, series: seriesOf.get(name) }));
}

/** Returns a metric's name as an expression. Mackerel's names contain dots, and so need a matcher. */
function selectorOf(name: string): string {
  return /^[a-zA-Z_:][\w:]*$/.test(name) ? name : `{__name__=${JSON.stringify(name)}}`;
}
