import { useId } from 'preact/hooks';

export interface ChoiceProps {
  readonly label: string;
  /** Its name for screen readers where the label alone says too little; contains the label. */
  readonly name?: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onChoose: (value: string) => void;
}

/** A labelled list to choose one option from. */
export function Choice({ label, name, value, options, onChoose }: ChoiceProps) {
  const id = useId();
  return (
    <span class="choice">
      <label for={id}>{label}</label>
      <select
        id={id}
        aria-label={name}
        value={value}
        onChange={(event) => onChoose(event.currentTarget.value)}
      >
        {options.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </span>
  );
}
