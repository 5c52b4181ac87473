import { useId, useState } from 'preact/hooks';
import type { Api } from '../api/api';
import { closeAlert } from '../api/monitoring';

export interface CloseFormProps {
  readonly api: Api;
  /** Id of the alert. */
  readonly id: string;
  readonly onClosed: () => void;
}

/** Longest reason, in characters. */
const MAX_REASON = 2_000;

/** A form that closes an alert by hand. A key without the write right gets an error. */
export function CloseForm({ api, id, onClosed }: CloseFormProps) {
  const [reason, setReason] = useState('');
  const [problem, setProblem] = useState<string>();
  const [isSending, setSending] = useState(false);
  const reasonId = useId();
  const submit = async (event: Event) => {
    event.preventDefault();
    setProblem(undefined);
    setSending(true);
    try {
      await closeAlert(api, id, reason.trim());
      onClosed();
    } catch (error) {
      setProblem((error as Error).message);
    }
    setSending(false);
  };
  return (
    <form class="silence" onSubmit={submit}>
      <span class="choice reason">
        <label for={reasonId}>Reason</label>
        <input
          id={reasonId}
          type="text"
          maxLength={MAX_REASON}
          placeholder="why it is closed; it opens again while its cause lasts"
          value={reason}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </span>
      <button type="submit" disabled={isSending}>
        Close the alert
      </button>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}
