import type { ComponentChildren } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import { useTitleFocus } from './title-focus';

export interface ReasonFormProps {
  /** Text of the button. */
  readonly action: string;
  readonly placeholder: string;
  /** Maximum length of the reason, in characters. */
  readonly maxReason: number;
  /**
   * Called with the trimmed reason. If it fails, the form shows the error's message, for example that the key may not
   * write.
   */
  readonly onSubmit: (reason: string) => Promise<void>;
  /** Further choices, shown between the reason and the button. */
  readonly children?: ComponentChildren;
}

/** A form that acts on an alert and asks for the reason. */
export function ReasonForm({ action, placeholder, maxReason, onSubmit, children }: ReasonFormProps) {
  const [reason, setReason] = useState('');
  const [problem, setProblem] = useState<string>();
  const [isSending, setSending] = useState(false);
  const reasonId = useId();
  const form = useRef<HTMLFormElement>(null);
  useTitleFocus(form);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (isSending) return;
    setProblem(undefined);
    setSending(true);
    try {
      await onSubmit(reason.trim());
    } catch (error) {
      setProblem((error as Error).message);
    }
    setSending(false);
  };
  return (
    <form ref={form} class="silence" onSubmit={submit}>
      <span class="choice reason">
        <label for={reasonId}>Reason</label>
        <input
          id={reasonId}
          type="text"
          maxLength={maxReason}
          placeholder={placeholder}
          value={reason}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </span>
      {children}
      {/* A disabled button would lose the focus. */}
      <button type="submit" aria-disabled={isSending}>
        {action}
      </button>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}
