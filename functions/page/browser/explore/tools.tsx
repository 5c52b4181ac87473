import { useId, useState } from 'preact/hooks';
import type { Api } from '../api/api';
import type { Metadata } from '../graphs/metadata';
import { CardinalityTables } from './cardinality';
import { MetricBrowser } from './metric-browser';
import { pastQueries } from './query-history';

export interface ToolsProps {
  readonly api: Api;
  readonly metadata: Metadata | undefined;
  /** Called with an expression for the chosen entry. */
  readonly onExplore: (query: string) => void;
}

const TOOLS = ['Metrics', 'History', 'Most series'] as const;

/** Tools for finding a query. One is open at a time, below its button. */
export function Tools(props: ToolsProps) {
  const [open, setOpen] = useState<(typeof TOOLS)[number]>();
  const panelId = useId();
  return (
    <>
      <fieldset class="tools" aria-label="Find a query">
        {TOOLS.map((tool) => (
          <button
            key={tool}
            type="button"
            aria-expanded={open === tool}
            aria-controls={open === tool ? panelId : undefined}
            onClick={() => setOpen(open === tool ? undefined : tool)}
          >
            {tool}
          </button>
        ))}
      </fieldset>
      {open !== undefined && (
        <section class="tool" id={panelId} aria-label={open}>
          {open === 'Metrics' && <MetricBrowser {...props} />}
          {open === 'History' && <History onExplore={props.onExplore} />}
          {open === 'Most series' && <CardinalityTables {...props} />}
        </section>
      )}
    </>
  );
}

function History({ onExplore }: Pick<ToolsProps, 'onExplore'>) {
  const past = pastQueries();
  if (past.length === 0) return <p class="note">Queries that you run are listed here until you sign out.</p>;
  return (
    <ul class="history" aria-label="Queries that ran, latest first">
      {past.map((query) => (
        <li key={query}>
          <button type="button" class="quiet" onClick={() => onExplore(query)}>
            <code>{query}</code>
          </button>
        </li>
      ))}
    </ul>
  );
}
