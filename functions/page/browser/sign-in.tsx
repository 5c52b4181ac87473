import { useEffect, useRef, useState } from 'preact/hooks';
import { Api, ApiError } from './api';
import { Mark } from './mark';

export interface SignInProps {
  /** Why one must sign in again. */
  readonly reason: string | undefined;
  readonly onKey: (key: string) => void;
}

/** Asks for an API key, and tries it. */
export function SignIn({ reason, onKey }: SignInProps) {
  const [problem, setProblem] = useState(reason);
  const [isTrying, setTrying] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);

  const submit = (event: Event) => {
    event.preventDefault();
    const key = field.current!.value.trim();
    if (key === '') return setProblem('Paste an API key first.');
    if (!/^[\x21-\x7e]+$/.test(key))
      return setProblem('This is not an API key: it has characters that none has.');
    performance.mark('sign-in');
    setTrying(true);
    new Api(key).hosts().then(
      () => onKey(key),
      (error: Error) => {
        setTrying(false);
        setProblem(
          error instanceof ApiError && error.kind === 'gone'
            ? 'The server does not answer. Check that it runs and try again.'
            : error.message,
        );
        field.current?.select();
      },
    );
  };

  return (
    <main class="sign-in">
      <form onSubmit={submit}>
        <h1>
          <Mark /> HeteroTSDB
        </h1>
        <p>See what is in here, and where it is right now.</p>
        <label for="key">API key with the read right</label>
        <input
          id="key"
          ref={field}
          type="password"
          autocomplete="off"
          spellcheck={false}
          placeholder="ht_…"
          aria-invalid={problem !== undefined}
          aria-describedby={problem === undefined ? 'key-note' : 'key-problem key-note'}
        />
        {problem !== undefined && (
          <p id="key-problem" class="problem" role="alert">
            {problem}
          </p>
        )}
        <button type="submit" class="primary" disabled={isTrying}>
          {isTrying ? 'Signing in …' : 'Sign in'}
        </button>
        <p id="key-note" class="note">
          The key stays in this tab and is forgotten with it. <code>npm start</code> prints one; an operator
          makes others with <code>npm run ops</code>.
        </p>
      </form>
    </main>
  );
}
