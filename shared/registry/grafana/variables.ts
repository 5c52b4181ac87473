import type { Variable } from '../dashboard';
import { MAX_NAME, MAX_TEXT, MAX_VALUES, MAX_VARIABLES, VARIABLE_NAME } from '../dashboard-limits';
import { parseLabelValues } from '../label-values';
import type { LeftOut } from './left-out';
import { type Fields, fieldsOf, listOf, shorten, textOf } from './lenient-json';

export interface ConvertedVariables {
  readonly variables: readonly Variable[];
  readonly leftOut: readonly LeftOut[];
}

/** The value that Grafana stores for a variable when all its values are chosen. */
const ALL = '$__all';

/**
 * Converts the variables of a dashboard. Variables that choose a data source are skipped, because this
 * database is the only source.
 */
export function convertVariables(dashboard: Fields): ConvertedVariables {
  const variables: Variable[] = [];
  const leftOut: LeftOut[] = [];
  for (const each of listOf(fieldsOf(dashboard.templating).list).map(fieldsOf)) {
    if (each.type === 'datasource') continue;
    const title = `variable ${textOf(each.label) || textOf(each.name)}`.slice(0, 100);
    const converted =
      variables.length === MAX_VARIABLES
        ? { reason: `only the first ${MAX_VARIABLES} variables are imported` }
        : variables.some(({ name }) => name === each.name)
          ? { reason: 'another variable has the same name' }
          : convertVariable(each);
    if (converted.variable !== undefined) variables.push(converted.variable);
    if (converted.reason !== undefined) leftOut.push({ title, reason: converted.reason });
  }
  return { variables, leftOut };
}

interface Converted {
  readonly variable?: Variable;
  /** The reason why the variable, or a part of it, is left out. */
  readonly reason?: string;
}

function convertVariable(fields: Fields): Converted {
  const name = textOf(fields.name);
  if (!VARIABLE_NAME.test(name))
    return { reason: 'its name has characters other than letters, digits and _' };
  const label = shorten(textOf(fields.label), MAX_NAME);
  const current = chosenOf(fields);
  const common: Variable = {
    name,
    ...(label !== '' && { label }),
    ...(fields.multi === true && { isMultiple: true }),
    ...(fields.includeAll === true && { hasAll: true }),
    ...(current.length > 0 && { chosen: [...current] }),
  };
  const allValue = textOf(fields.allValue);
  const all =
    fields.includeAll === true && allValue !== '' && allValue.length <= MAX_TEXT ? { allValue } : {};
  switch (fields.type) {
    case 'query': {
      const query = labelQueryOf(fields);
      if (query === undefined)
        return { reason: 'its query is neither label_values(label) nor label_values(selector, label)' };
      const variable = { ...common, ...all, query };
      return textOf(fields.regex) === '' ? { variable } : { variable, reason: 'its regex is not applied' };
    }
    case 'custom':
      return { variable: { ...common, ...all, values: listedValues(fields) } };
    case 'interval':
      return { variable: { ...common, values: listedValues(fields).filter((each) => each !== 'auto') } };
    case 'constant':
      return {
        variable: {
          name,
          ...(label !== '' && { label }),
          values: [shorten(textOf(fields.query), MAX_NAME)],
        },
      };
    case 'textbox':
      return {
        variable: {
          ...common,
          chosen: current.length > 0 ? [...current] : [shorten(textOf(fields.query), MAX_NAME)],
        },
      };
    default:
      return { reason: `variables of type ${textOf(fields.type).slice(0, 50) || '?'} are not supported` };
  }
}

/**
 * Returns the initially chosen values. Returns none if all are chosen, if the value is chosen automatically,
 * or if a value is too long.
 */
function chosenOf({ current }: Fields): readonly string[] {
  const { value } = fieldsOf(current);
  const values = (Array.isArray(value) ? value : [value]).map(textOf).filter((each) => each !== '');
  const isSaved = values.every(
    (each) => each !== ALL && !each.startsWith('$__auto') && each.length <= MAX_NAME,
  );
  return isSaved ? values.slice(0, MAX_VALUES) : [];
}

function labelQueryOf({ query, definition }: Fields): string | undefined {
  const text = textOf(query) || textOf(fieldsOf(query).query) || textOf(definition);
  return text.length <= MAX_TEXT && parseLabelValues(text) !== undefined ? text.trim() : undefined;
}

/** Splits a list such as `a, b, text : value`. A comma after a backslash is part of a value. */
function listedValues({ query }: Fields): string[] {
  const values = textOf(query)
    .slice(0, MAX_TEXT)
    .split(/(?<!\\),/)
    .map((part) => part.replaceAll('\\,', ',').trim())
    .map((part) => / : (.*)$/s.exec(part)?.[1]?.trim() ?? part)
    .filter((part) => part !== '')
    .map((part) => shorten(part, MAX_NAME));
  return [...new Set(values)].slice(0, MAX_VALUES);
}
