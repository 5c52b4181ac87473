import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { dateTimeText, parseDateTime } from '../view/format';
import { type Draft, draftWith, type Field, fieldValue, type Problems, parseText, textOf } from './fields';

export interface ObjectFormProps {
  readonly name: string;
  readonly fields: readonly Field[];
  readonly draft: Draft;
  readonly problems: Problems;
  readonly utc: boolean;
  readonly isSending: boolean;
  /** Further buttons beside the one that saves. */
  readonly actions?: ComponentChildren;
  readonly onDraft: (draft: Draft) => void;
  readonly onSave: () => void;
}

/** A form for a JSON object. If the server refuses the object, each reason is shown at its field. */
export function ObjectForm(props: ObjectFormProps) {
  const { name, fields, draft, problems, utc, isSending, actions, onDraft, onSave } = props;
  const formId = useId();
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus();
  }, [problems]);
  return (
    <form
      class="object"
      aria-label={name}
      ref={form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (!isSending) onSave();
      }}
    >
      {fields.map((field) => (
        <FieldRow
          key={field.name}
          id={`${formId}-${field.name}`}
          field={field}
          value={fieldValue(draft, field.name)}
          problem={problems.byField.get(field.name)}
          utc={utc}
          onValue={(value) => onDraft(draftWith(draft, field.name, value))}
        />
      ))}
      <div class="buttons">
        <button type="submit" class="primary" aria-disabled={isSending}>
          Save
        </button>
        {actions}
      </div>
      {problems.other !== undefined && (
        <p class="problem" role="alert">
          {problems.other}
        </p>
      )}
    </form>
  );
}

interface FieldRowProps {
  readonly id: string;
  readonly field: Field;
  readonly value: unknown;
  readonly problem: string | undefined;
  readonly utc: boolean;
  readonly onValue: (value: unknown) => void;
}

function FieldRow(props: FieldRowProps) {
  const { id, field, problem } = props;
  const hintIds = [
    ...(field.hint === undefined ? [] : [`${id}-hint`]),
    ...(problem === undefined ? [] : [`${id}-problem`]),
  ];
  const common = {
    id,
    'aria-describedby': hintIds.length === 0 ? undefined : hintIds.join(' '),
    'aria-invalid': problem !== undefined,
  };
  return (
    <div class={`field field-${field.kind}`}>
      {field.kind === 'several' ? (
        <span class="name" id={`${id}-name`}>
          {field.name}
        </span>
      ) : (
        <label class="name" for={id}>
          {field.name}
        </label>
      )}
      <Input {...props} common={common} />
      {field.hint !== undefined && (
        <p class="note" id={`${id}-hint`}>
          {field.hint}
        </p>
      )}
      {problem !== undefined && (
        <p class="problem" id={`${id}-problem`} role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}

interface InputProps extends FieldRowProps {
  readonly common: {
    readonly id: string;
    readonly 'aria-describedby': string | undefined;
    readonly 'aria-invalid': boolean;
  };
}

function Input(props: InputProps) {
  const { field, value, utc, common, onValue } = props;
  switch (field.kind) {
    case 'flag':
      return (
        <input
          type="checkbox"
          {...common}
          checked={value === true}
          onChange={(event) => onValue(event.currentTarget.checked ? true : undefined)}
        />
      );
    case 'choice': {
      const options = field.options ?? [];
      return (
        <select
          {...common}
          value={typeof value === 'string' ? value : field.isOptional ? '' : options[0]?.[0]}
          onChange={(event) => onValue(event.currentTarget.value || undefined)}
        >
          {field.isOptional && <option value="">–</option>}
          {options.map(([each, text]) => (
            <option key={each} value={each}>
              {text}
            </option>
          ))}
        </select>
      );
    }
    case 'several':
      return <Several {...props} />;
    case 'time':
      return (
        <input
          type="datetime-local"
          {...common}
          value={typeof value === 'number' ? dateTimeText(value, utc) : ''}
          onChange={(event) => onValue(parseDateTime(event.currentTarget.value, utc))}
        />
      );
    default:
      return <TextInput {...props} />;
  }
}

/** Keeps the text while it is edited, so that an unfinished number is not changed. */
function TextInput({ field, value, common, onValue }: InputProps) {
  const [text, setText] = useState(() => textOf(field, value));
  const input = (event: { readonly currentTarget: { readonly value: string } }) => {
    setText(event.currentTarget.value);
    onValue(parseText(field, event.currentTarget.value));
  };
  if (field.kind === 'text' || field.kind === 'number')
    return (
      <input
        type="text"
        inputMode={field.kind === 'number' ? 'decimal' : 'text'}
        autocomplete="off"
        {...common}
        value={text}
        onInput={input}
      />
    );
  return (
    <textarea
      {...common}
      class={field.kind}
      rows={3}
      spellcheck={field.kind === 'long'}
      value={text}
      onInput={input}
    />
  );
}

/**
 * A list of options. Any number of them can be checked. The list also shows chosen values that no longer
 * exist.
 */
function Several({ field, value, common, onValue }: InputProps) {
  const chosen = Array.isArray(value) ? (value as string[]) : [];
  const normal = (text: string) => text.replace(/\s*:\s*/, ':');
  const isChosen = (option: string) => chosen.some((each) => normal(each) === normal(option));
  const options = field.options ?? [];
  const gone = chosen.filter((each) => !options.some(([option]) => normal(option) === normal(each)));
  const all = [...options, ...gone.map((each) => [each, `${each} (unknown)`] as const)];
  if (all.length === 0) return <p class="note">There is nothing to choose from yet.</p>;
  return (
    <fieldset
      id={common.id}
      aria-labelledby={`${common.id}-name`}
      aria-describedby={common['aria-describedby']}
      class="options-box"
    >
      {all.map(([option, text]) => (
        <label key={option}>
          <input
            type="checkbox"
            checked={isChosen(option)}
            onChange={(event) => {
              const others = chosen.filter((each) => normal(each) !== normal(option));
              const next = event.currentTarget.checked ? [...others, option] : others;
              onValue(next.length === 0 ? undefined : next);
            }}
          />{' '}
          {text}
        </label>
      ))}
    </fieldset>
  );
}
