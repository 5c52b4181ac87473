import { useEffect, useState } from 'preact/hooks';
import type { Api } from '../api/api';
import type { Status } from '../api/status';
import { formatCount, formatDollars } from '../view/format';

interface Count {
  readonly name: string;
  readonly value: number;
}

/** The part of Prometheus' `status/tsdb` that the page shows. */
interface Cardinality {
  readonly headStats: { readonly numSeries: number };
  readonly seriesCountByMetricName: readonly Count[];
  readonly labelValueCountByLabelName: readonly Count[];
  readonly seriesCountByLabelValuePair: readonly Count[];
}

export interface CardinalityProps {
  readonly api: Api;
  /** Called with an expression for the chosen entry. */
  readonly onExplore: (query: string) => void;
}

/** Shows which names, labels and pairs have the most series, and what they approximately cost this month. */
export function CardinalityTables({ api, onExplore }: CardinalityProps) {
  const [found, setFound] = useState<{ readonly counts: Cardinality; readonly usage: Status['usage'] }>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    const abort = new AbortController();
    Promise.all([
      api.prometheus<Cardinality>('status/tsdb', { limit: '10' }, abort.signal),
      api.status(),
    ]).then(
      ([{ data }, { usage }]) => setFound({ counts: data, usage }),
      (error: Error) => abort.signal.aborted || setProblem(error.message),
    );
    return () => abort.abort();
  }, [api]);
  const { counts, usage } = found ?? {};
  const dollarsOf = (series: number) =>
    formatDollars((usage!.dollars * series) / Math.max(1, counts!.headStats.numSeries));
  return (
    <div class="cardinality">
      {found === undefined && problem === undefined && <p class="note">reading …</p>}
      {problem !== undefined && (
        <p class="note alert" role="alert">
          {problem}
        </p>
      )}
      {counts !== undefined && (
        <div class="counts">
          <CountTable
            heading="Metric names"
            unit="series"
            counts={counts.seriesCountByMetricName}
            queryOf={(name) => `{__name__=${JSON.stringify(name)}}`}
            costOf={dollarsOf}
            onExplore={onExplore}
          />
          <CountTable
            heading="Labels"
            unit="values"
            counts={counts.labelValueCountByLabelName}
            queryOf={(name) => `count by (${name}) ({${name}!=""})`}
            onExplore={onExplore}
          />
          <CountTable
            heading="Pairs of label and value"
            unit="series"
            counts={counts.seriesCountByLabelValuePair}
            queryOf={(pair) => `{${selectorOf(pair)}}`}
            costOf={dollarsOf}
            onExplore={onExplore}
          />
        </div>
      )}
    </div>
  );
}

interface CountTableProps extends Pick<CardinalityProps, 'onExplore'> {
  readonly heading: string;
  readonly unit: string;
  readonly counts: readonly Count[];
  readonly queryOf: (name: string) => string;
  readonly costOf?: (count: number) => string;
}

function CountTable({ heading, unit, counts, queryOf, costOf, onExplore }: CountTableProps) {
  return (
    <table>
      <caption>{heading}</caption>
      <thead>
        <tr>
          <th scope="col">name</th>
          <th scope="col">{unit}</th>
          {costOf && <th scope="col">this month</th>}
        </tr>
      </thead>
      <tbody>
        {counts.map(({ name, value }) => (
          <tr key={name}>
            <td>
              <button type="button" class="quiet" onClick={() => onExplore(queryOf(name))}>
                {name}
              </button>
            </td>
            <td>{formatCount(value)}</td>
            {costOf && <td>{costOf(value)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Converts `job=api` to a matcher: `job="api"`. */
function selectorOf(pair: string): string {
  const at = pair.indexOf('=');
  return `${pair.slice(0, at)}=${JSON.stringify(pair.slice(at + 1))}`;
}
