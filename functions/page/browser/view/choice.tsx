import { useId } from 'preact/hooks';

export interface ChoiceProps {
  readonly label: string;
  /** Accessible name, if the label alone is not enough. It must contain the label. */
  readonly name?: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onChoose: (value: string) => void;
}

/** A labelled list of options. One option is chosen. */
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
