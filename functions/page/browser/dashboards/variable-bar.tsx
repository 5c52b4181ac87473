import { Choice } from '../view/choice';
import { counted } from '../view/format';
import type { VariableChoice } from './use-variables';
import { ALL } from './variables';

interface VariableBarProps {
  readonly choices: readonly VariableChoice[];
  readonly onChoose: (name: string, values: readonly string[]) => void;
}

/** Controls that choose the values of a dashboard's variables. */
export function VariableBar({ choices, onChoose }: VariableBarProps) {
  return (
    <fieldset class="variables" aria-label="Variables">
      {choices.map((choice) => (
        <OneVariable
          key={choice.variable.name}
          {...choice}
          onChoose={(values) => onChoose(choice.variable.name, values)}
        />
      ))}
    </fieldset>
  );
}

function OneVariable({
  variable,
  options,
  chosen,
  problem,
  onChoose,
}: VariableChoice & { readonly onChoose: (values: readonly string[]) => void }) {
  const label = variable.label || variable.name;
  if (problem !== undefined)
    return (
      <p class="problem" role="alert">
        {label}: {problem}
      </p>
    );
  if (options === undefined && variable.query == null)
    return (
      <label class="choice">
        {label}
        <input
          type="text"
          value={chosen === ALL ? '' : (chosen?.[0] ?? '')}
          onChange={(event) => onChoose([event.currentTarget.value])}
        />
      </label>
    );
  const listed = options ?? [];
  const picked = chosen === ALL || chosen === undefined ? [] : chosen;
  // Offer the chosen values too: a link may choose a value that no series has any more.
  const offered = [...picked.filter((each) => each !== '' && !listed.includes(each)), ...listed];
  if (variable.isMultiple !== true)
    return (
      <Choice
        label={label}
        value={chosen === ALL ? ALL : (picked[0] ?? '')}
        options={[
          ...(variable.hasAll === true ? [[ALL, 'all'] as const] : []),
          ...(offered.length === 0 ? [['', options === undefined ? 'reading …' : 'no values'] as const] : []),
          ...offered.map((each) => [each, each] as const),
        ]}
        onChoose={(value) => onChoose([value])}
      />
    );
  const toggled = (value: string, isOn: boolean) => {
    const next = isOn ? [...picked, value] : picked.filter((each) => each !== value);
    onChoose(next.length === 0 && variable.hasAll === true ? [ALL] : next);
  };
  const summary = chosen === ALL ? 'all' : picked.length === 1 ? picked[0] : counted(picked.length, 'value');
  return (
    <details class="choice several">
      <summary>
        {label} <strong>{summary}</strong>
      </summary>
      <fieldset aria-label={label}>
        {variable.hasAll === true && (
          <label>
            <input type="checkbox" checked={chosen === ALL} onChange={() => onChoose([ALL])} /> all
          </label>
        )}
        {offered.map((each) => (
          <label key={each}>
            <input
              type="checkbox"
              checked={picked.includes(each)}
              onChange={(event) => toggled(each, event.currentTarget.checked)}
            />{' '}
            {each}
          </label>
        ))}
        {offered.length === 0 && <p class="note">{options === undefined ? 'reading …' : 'no values'}</p>}
      </fieldset>
    </details>
  );
}
