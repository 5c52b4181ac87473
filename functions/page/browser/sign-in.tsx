import { useEffect, useRef, useState } from 'preact/hooks';
import { version } from '../../../package.json';
import { Api, ApiError } from './api/api';
import { Mark } from './mark';

export interface SignInProps {
  /** Why the page asks for a key again. */
  readonly reason: string | undefined;
  readonly onKey: (key: string, isRemembered: boolean) => void;
}

/** Asks for an API key and tries it. */
export function SignIn({ reason, onKey }: SignInProps) {
  const [problem, setProblem] = useState(reason);
  const [isTrying, setTrying] = useState(false);
  const [isRemembered, setRemembered] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);

  const submit = (event: Event) => {
    event.preventDefault();
    if (isTrying) return;
    const key = field.current!.value.trim();
    if (key === '') return setProblem('Paste an API key first.');
    if (!/^[\x21-\x7e]+$/.test(key))
      return setProblem('This is not an API key: keys are printable ASCII without spaces.');
    setTrying(true);
    new Api(key).graphDefinitions().then(
      () => onKey(key, isRemembered),
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
        <p>See your metrics, and which tier they are in.</p>
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
        <label class="remember">
          <input
            type="checkbox"
            checked={isRemembered}
            onChange={(event) => setRemembered(event.currentTarget.checked)}
          />
          Remember on this device
        </label>
        {/* A disabled button would lose the focus. */}
        <button type="submit" class="primary" aria-disabled={isTrying}>
          {isTrying ? 'Signing in …' : 'Sign in'}
        </button>
        <p id="key-note" class="note">
          {isRemembered
            ? 'This browser keeps the key until you sign out. Anyone who uses this browser can do everything that the key allows.'
            : 'This tab keeps the key until it is closed.'}{' '}
          <code>npm start</code> prints a key; an operator creates more with <code>npm run ops</code>.
        </p>
        <p class="note">
          HeteroTSDB {version} · <a href="/assets/reference.html">API reference</a>
        </p>
      </form>
    </main>
  );
}
