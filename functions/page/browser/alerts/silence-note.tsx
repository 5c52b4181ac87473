import { useRef, useState } from 'preact/hooks';
import { endSilence, type Silence } from '../api/alerting';
import type { Api } from '../api/api';
import { formatTime } from '../view/format';
import { secondsOf } from './listed-alerts';
import { useTitleFocus } from './title-focus';

export interface SilenceNoteProps {
  readonly api: Api;
  readonly silence: Silence;
  readonly utc: boolean;
  readonly onEnded: () => void;
}

/** Shows when an alert's silence ends, who created it and why. A button ends it now. */
export function SilenceNote({ api, silence, utc, onEnded }: SilenceNoteProps) {
  const [problem, setProblem] = useState<string>();
  const [isSending, setSending] = useState(false);
  const note = useRef<HTMLParagraphElement>(null);
  useTitleFocus(note);
  const end = async () => {
    if (isSending) return;
    setProblem(undefined);
    setSending(true);
    try {
      await endSilence(api, silence.id);
      onEnded();
    } catch (error) {
      setProblem((error as Error).message);
    }
    setSending(false);
  };
  return (
    <p ref={note} class="silence-note">
      <span>
        <b>Silenced</b> until {formatTime(secondsOf(silence.endsAt), utc)} by {silence.createdBy}:{' '}
        {silence.comment}
      </span>
      <button type="button" class="quiet" aria-disabled={isSending} onClick={end}>
        End the silence
      </button>
      {problem !== undefined && (
        <span class="problem" role="alert">
          {problem}
        </span>
      )}
    </p>
  );
}
