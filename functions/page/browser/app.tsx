import { useEffect, useErrorBoundary, useMemo, useState } from 'preact/hooks';
import { Api } from './api/api';
import { Failure } from './failure';
import { Frame } from './frame/frame';
import { forgetKey, storedKey, storeKey, takeKeyFromAddress, watchRememberedKey } from './key';
import { SignIn } from './sign-in';

/** Asks for a key if none is stored, then shows the frame. */
export function App() {
  const [error] = useErrorBoundary();
  const [key, setKey] = useState(() => takeKeyFromAddress() ?? storedKey());
  const [reason, setReason] = useState<string>();
  useEffect(() => {
    // Look for a key in the address again when it changes: a user may paste an address with a key into a tab that
    // already shows the page.
    const moved = () => {
      const given = takeKeyFromAddress();
      if (given !== undefined) setKey(given);
    };
    addEventListener('hashchange', moved);
    return () => removeEventListener('hashchange', moved);
  }, []);
  useEffect(() => watchRememberedKey(() => setKey(undefined)), []);
  const api = useMemo(() => (key === undefined ? undefined : new Api(key)), [key]);
  if (error !== undefined) return <Failure error={error} />;
  if (api === undefined)
    return (
      <SignIn
        reason={reason}
        onKey={(given, isRemembered) => {
          storeKey(given, isRemembered);
          setKey(given);
        }}
      />
    );
  return (
    <Frame
      api={api}
      onSignOut={(why) => {
        forgetKey();
        setReason(why);
        setKey(undefined);
      }}
    />
  );
}
