import { useState } from 'preact/hooks';
import type { Variable } from '../../../../shared/registry/dashboard';
import {
  MAX_NAME,
  MAX_TEXT,
  MAX_VALUES,
  MAX_VARIABLES,
  VARIABLE_NAME,
} from '../../../../shared/registry/dashboard-limits';
import { parseLabelValues } from '../../../../shared/registry/label-values';
import { Dialog } from './dialog';
import { CheckField, FormButtons, TextField } from './fields';

interface VariablesFormProps {
  readonly variables: readonly Variable[];
  readonly onApply: (variables: readonly Variable[]) => void;
  readonly onClose: () => void;
}

/** A dialog that changes the variables of a dashboard. */
export function VariablesForm({ variables, onApply, onClose }: VariablesFormProps) {
  const [edited, setEdited] = useState(variables);
  const [problem, setProblem] = useState<string>();
  const change = (at: number, changed: Partial<Variable>) =>
    setEdited((old) => old.map((each, i) => (i === at ? { ...each, ...changed } : each)));
  const submit = (event: Event) => {
    event.preventDefault();
    const found = problemOf(edited);
    setProblem(found);
    if (found === undefined) onApply(edited);
  };
  return (
    <Dialog title="Variables" onClose={onClose}>
      <form onSubmit={submit}>
        <p class="note">
          PromQL has the chosen value in place of $name. With several values, use a pattern: job=~"$name".
        </p>
        {edited.map((variable, at) => (
          <fieldset key={at} class="variable" aria-label={`Variable ${at + 1}`}>
            <div class="side-by-side">
              <TextField
                label="Name"
                isRequired
                maxLength={64}
                value={variable.name}
                onInput={(name) => change(at, { name })}
              />
              <TextField
                label="Label"
                maxLength={MAX_NAME}
                value={variable.label ?? ''}
                onInput={(label) => change(at, { label })}
              />
            </div>
            <TextField
              label="Values"
              maxLength={MAX_TEXT}
              hint="A list such as a, b, c; or label_values(up, job); or nothing for free text"
              value={valuesText(variable)}
              onInput={(text) => change(at, valuesOf(text))}
            />
            <CheckField
              label="Several values at once"
              isChecked={variable.isMultiple === true}
              onCheck={(isMultiple) => change(at, { isMultiple })}
            />
            <CheckField
              label="Offer all"
              isChecked={variable.hasAll === true}
              onCheck={(hasAll) => change(at, { hasAll })}
            />
            <button type="button" onClick={() => setEdited((old) => old.filter((_, i) => i !== at))}>
              Remove {variable.name || 'variable'}
            </button>
          </fieldset>
        ))}
        <p>
          <button
            type="button"
            disabled={edited.length >= MAX_VARIABLES}
            onClick={() => setEdited((old) => [...old, { name: '' }])}
          >
            Add a variable
          </button>
        </p>
        <FormButtons submit="Apply" problem={problem} onCancel={onClose} />
      </form>
    </Dialog>
  );
}

function valuesText({ query, values }: Variable): string {
  return query ?? (values ?? []).join(',');
}

/** Returns the fields for a text: a list, or a query for the values of a label. */
function valuesOf(text: string): Pick<Variable, 'query' | 'values'> {
  if (text.trimStart().startsWith('label_')) return { query: text, values: null };
  return { query: null, values: text === '' ? null : text.split(',') };
}

function problemOf(variables: readonly Variable[]): string | undefined {
  for (const { name, query, values } of variables) {
    if (!VARIABLE_NAME.test(name)) return `The name ${name} has characters other than letters, digits and _.`;
    if (variables.filter((each) => each.name === name).length > 1)
      return `Two variables have the name ${name}.`;
    if (query != null && parseLabelValues(query) === undefined)
      return `${name}: expected label_values(label) or label_values(selector, label).`;
    if (values != null && values.length > MAX_VALUES) return `${name}: at most ${MAX_VALUES} values.`;
    if (values?.some((each) => each.length > MAX_NAME))
      return `${name}: a value has at most ${MAX_NAME} characters.`;
  }
  return undefined;
}
