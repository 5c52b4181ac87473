import { useId, useState } from 'preact/hooks';
import { createSilence } from '../api/alerting';
import type { Api } from '../api/api';
import type { LabelMap } from '../api/promql-answers';
import { Choice } from '../view/choice';
import { newSilence, SILENCE_LENGTHS, type SilenceScope } from './new-silence';

export interface SilenceFormProps {
  readonly api: Api;
  /** Labels of the alert. */
  readonly labels: LabelMap;
  readonly onSilenced: () => void;
}

/** Longest reason, in characters. */
const MAX_REASON = 500;

/**
 * A form for silencing an alert, so that receivers are not notified of it. A key without the write right gets
 * an error when it is submitted.
 */
export function SilenceForm({ api, labels, onSilenced }: SilenceFormProps) {
  const [reason, setReason] = useState('');
  const [lengthS, setLength] = useState(SILENCE_LENGTHS[0]![0]);
  const [scope, setScope] = useState<SilenceScope>('alert');
  const [problem, setProblem] = useState<string>();
  const [isSending, setSending] = useState(false);
  const reasonId = useId();
  const submit = async (event: Event) => {
    event.preventDefault();
    const comment = reason.trim();
    if (comment === '') return setProblem('Say why, for those who find the alert silenced.');
    setProblem(undefined);
    setSending(true);
    try {
      await createSilence(api, newSilence(labels, scope, comment, lengthS, Date.now()));
      onSilenced();
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
          placeholder="why nobody needs to be told"
          value={reason}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </span>
      <Choice
        label="For"
        value={String(lengthS)}
        options={SILENCE_LENGTHS.map(([seconds, text]) => [String(seconds), text])}
        onChoose={(value) => setLength(Number(value))}
      />
      <Choice
        label="What"
        value={scope}
        options={[
          ['alert', 'this alert'],
          ['name', `all of ${labels.alertname ?? ''}`],
        ]}
        onChoose={(value) => setScope(value as SilenceScope)}
      />
      <button type="submit" disabled={isSending}>
        Silence
      </button>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}
