import { useId } from 'preact/hooks';

export interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onChoose: (value: string) => void;
}

/** A labelled list to choose one option from. */
export function Choice({ label, value, options, onChoose }: ChoiceProps) {
  const id = useId();
  return (
    <span class="choice">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
        {options.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </span>
  );
}
