import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { quotedNames } from '../../../../shared/promql/dotted-names';
import type { Variable } from '../../../../shared/registry/dashboard';
import { parseLabelValues } from '../../../../shared/registry/label-values';
import { type Api, ApiError } from '../api/api';
import type { ViewProps } from '../frame/views';
import { byNature } from '../view/natural-order';
import type { Span } from '../view/time-range';
import { ALL, type Chosen, type ChosenValues, chosenOf, namesIn, queryText } from './variables';

/** A variable, and the values that a viewer of the dashboard may choose. */
export interface VariableChoice {
  readonly variable: Variable;
  /** Values to choose from. Undefined if the values are still being read, or are free text. */
  readonly options: readonly string[] | undefined;
  readonly chosen: Chosen | undefined;
  readonly problem?: string;
}

type ValuesResult = readonly string[] | { readonly problem: string };

/** Maximum number of values offered for a label. */
const MAX_OPTIONS = 5_000;

/** Reads the values of a dashboard's variables, and returns which of them are chosen. */
export function useVariables(
  {
    api,
    state,
    span,
    returns,
    onSettled,
  }: Pick<ViewProps, 'api' | 'state' | 'span' | 'returns' | 'onSettled'>,
  variables: readonly Variable[],
): {
  readonly choices: readonly VariableChoice[];
  readonly values: ChosenValues;
  readonly isComplete: boolean;
} {
  const [results, setResults] = useState<ReadonlyMap<string, ValuesResult>>(new Map());
  const { choices, values, wanted } = resolved(variables, state.variables, results);
  const pending = useRef(new Set<string>());
  useEffect(() => {
    for (const query of wanted) {
      if (pending.current.has(query)) continue;
      pending.current.add(query);
      const settle = (result: ValuesResult) => {
        pending.current.delete(query);
        setResults((old) => new Map(old).set(query, result));
      };
      readValues(api, query, span).then(
        (found) => {
          settle(found);
          onSettled(undefined);
        },
        (error: unknown) => {
          settle({ problem: (error as Error).message });
          if (error instanceof ApiError && error.kind !== 'refused') onSettled(error);
        },
      );
    }
  }, [api, wanted.join('\n')]);
  // When the server answers again, repeat the reads that failed.
  useEffect(
    () => setResults((old) => new Map([...old].filter(([, result]) => !('problem' in result)))),
    [returns],
  );
  // Keep the same object while the values are equal, so that widgets do not read their data again.
  const key = JSON.stringify([...values].map(([name, { chosen }]) => [name, chosen]));
  const stable = useMemo(() => values, [key, variables]);
  return { choices, values: stable, isComplete: values.size === variables.length };
}

/** Resolves variables in order: a variable's query may refer to the variables before it. */
function resolved(
  variables: readonly Variable[],
  picked: ViewProps['state']['variables'],
  results: ReadonlyMap<string, ValuesResult>,
) {
  const values = new Map<string, { readonly variable: Variable; readonly chosen: Chosen }>();
  const wanted: string[] = [];
  const choices = variables.map((variable): VariableChoice => {
    const { query } = variable;
    const isReady = query == null || namesIn(query).every((name) => isKnown(name, variables, values));
    const queried = query == null || !isReady ? undefined : queryText(query, values);
    const result = queried === undefined ? undefined : results.get(queried);
    if (queried !== undefined && result === undefined) wanted.push(queried);
    const problem = result !== undefined && 'problem' in result ? result.problem : undefined;
    const listed =
      query == null
        ? (variable.values ?? undefined)
        : problem === undefined
          ? (result as readonly string[])
          : [];
    const chosen = chosenOf(variable, listed ?? (query == null ? [''] : undefined), picked[variable.name]);
    // If there is no value, use an empty string. Otherwise the query would be sent with the variable's name in it.
    const settled = chosen !== ALL && chosen?.length === 0 ? [''] : chosen;
    if (settled !== undefined) values.set(variable.name, { variable, chosen: settled });
    return { variable, options: listed, chosen: settled, ...(problem !== undefined && { problem }) };
  });
  return { choices, values, wanted };
}

function isKnown(
  name: string,
  variables: readonly Variable[],
  values: ReadonlyMap<string, unknown>,
): boolean {
  return values.has(name) || !variables.some((each) => each.name === name);
}

async function readValues(api: Api, query: string, { fromS, toS }: Span): Promise<readonly string[]> {
  const queried = parseLabelValues(query);
  if (queried === undefined) throw new Error('expected label_values(label) or label_values(selector, label)');
  const fields = {
    start: String(Math.floor(fromS)),
    end: String(Math.ceil(toS)),
    limit: String(MAX_OPTIONS),
    ...(queried.selector !== undefined && { 'match[]': quotedNames(queried.selector) }),
  };
  const path = `label/${encodeURIComponent(queried.label)}/values`;
  const { data } = await api.prometheus<string[]>(path, fields, AbortSignal.timeout(20_000));
  return data.slice(0, MAX_OPTIONS).sort(byNature);
}
