import type { ComponentChildren, InputHTMLAttributes } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  /** Explains what to enter. */
  readonly hint?: ComponentChildren;
}

interface TextFieldProps extends FieldProps {
  readonly isRequired?: boolean;
  readonly maxLength?: number;
  /** Values to choose from, besides any other text. */
  readonly suggestions?: readonly string[];
}

/** A labelled field for one line of text. */
export function TextField({
  label,
  value,
  onInput,
  hint,
  isRequired,
  maxLength = 255,
  suggestions,
}: TextFieldProps) {
  const [id, listId] = [useId(), useId()];
  return (
    <p class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="text"
        autocomplete="off"
        spellcheck={false}
        required={isRequired ?? false}
        maxLength={maxLength}
        value={value}
        {...(suggestions !== undefined && { list: listId })}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {suggestions !== undefined && (
        <datalist id={listId}>
          {suggestions.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
      {hint !== undefined && <small class="note">{hint}</small>}
    </p>
  );
}

/** A labelled field for several lines of text. */
export function AreaField({
  label,
  value,
  onInput,
  hint,
  isRequired,
  maxLength,
  rows = 4,
}: FieldProps & { readonly isRequired?: boolean; readonly maxLength: number; readonly rows?: number }) {
  const id = useId();
  return (
    <p class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        rows={rows}
        spellcheck={false}
        required={isRequired ?? false}
        maxLength={maxLength}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {hint !== undefined && <small class="note">{hint}</small>}
    </p>
  );
}

type NumberFieldProps = FieldProps &
  Pick<InputHTMLAttributes, 'min' | 'max' | 'step'> & { readonly isRequired?: boolean };

export function NumberField({ label, value, onInput, isRequired, min, max, step = 'any' }: NumberFieldProps) {
  const id = useId();
  return (
    <p class="field number-field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="number"
        required={isRequired ?? false}
        min={min}
        max={max}
        step={step}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </p>
  );
}

export function CheckField({
  label,
  isChecked,
  onCheck,
}: {
  readonly label: string;
  readonly isChecked: boolean;
  readonly onCheck: (isChecked: boolean) => void;
}) {
  return (
    <label class="check">
      <input type="checkbox" checked={isChecked} onChange={(event) => onCheck(event.currentTarget.checked)} />{' '}
      {label}
    </label>
  );
}

/** The buttons at the end of a form in a dialog. */
export function FormButtons({
  submit,
  onCancel,
  isIncomplete = false,
  isSending = false,
  problem,
}: {
  readonly submit: string;
  readonly onCancel: () => void;
  readonly isIncomplete?: boolean;
  /** Whether a request is in progress. The form must not send another one then. */
  readonly isSending?: boolean;
  readonly problem?: string | undefined;
}) {
  return (
    <>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <p class="buttons">
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
        {/* A disabled button would lose the focus. */}
        <button type="submit" class="primary" disabled={isIncomplete} aria-disabled={isSending}>
          {submit}
        </button>
      </p>
    </>
  );
}
