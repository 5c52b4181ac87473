import { useLayoutEffect, useRef, useState } from 'preact/hooks';

export interface ConfirmButtonProps {
  /** What the button does, such as `Delete`. */
  readonly label: string;
  /** The question that the button asks before it acts. */
  readonly question: string;
  /** Called when the user confirms. @throws the error that is shown */
  readonly onConfirm: () => Promise<void>;
}

/** A button that asks before it acts. Escape cancels, but not while the request is in progress. */
export function ConfirmButton({ label, question, onConfirm }: ConfirmButtonProps) {
  const [isAsking, setAsking] = useState(false);
  const [isSending, setSending] = useState(false);
  const [problem, setProblem] = useState<string>();
  const focused = useRef<HTMLButtonElement>(null);
  const isFirst = useRef(true);
  // Pressing a button replaces it, which would lose the focus. So move the focus to Cancel, and back afterwards. If the
  // user has moved the focus during the request, leave it where it is.
  useLayoutEffect(() => {
    if (!isFirst.current && (isAsking || document.activeElement === document.body)) focused.current?.focus();
    isFirst.current = false;
  }, [isAsking]);
  const confirm = async () => {
    if (isSending) return;
    setSending(true);
    setProblem(undefined);
    try {
      await onConfirm();
    } catch (error) {
      setProblem((error as Error).message);
    }
    setSending(false);
    setAsking(false);
  };
  const onKeyDown = ({ key }: { readonly key: string }) => key === 'Escape' && !isSending && setAsking(false);
  return (
    <span class="confirm">
      {isAsking ? (
        <>
          <span role="alert">{question}</span>
          <button
            type="button"
            class="danger"
            // A disabled button would lose the focus.
            aria-disabled={isSending}
            onClick={() => void confirm()}
            onKeyDown={onKeyDown}
          >
            {label}
          </button>
          <button
            type="button"
            ref={focused}
            disabled={isSending}
            onClick={() => setAsking(false)}
            onKeyDown={onKeyDown}
          >
            Cancel
          </button>
        </>
      ) : (
        <button type="button" ref={focused} onClick={() => setAsking(true)}>
          {label} …
        </button>
      )}
      {problem !== undefined && (
        <span class="problem" role="alert">
          {problem}
        </span>
      )}
    </span>
  );
}
