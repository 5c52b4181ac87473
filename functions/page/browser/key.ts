import { keyInHash, withoutKey } from './view/view-state';

const KEY = 'key';
/** Storage keys of data that is stored with the API key, and deleted with it. */
const BESIDE = ['queries'];

/** The API key of this tab, or the one remembered on this device. */
export function storedKey(): string | undefined {
  return sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY) ?? undefined;
}

/**
 * Stores the API key in the browser.
 *
 * @param isRemembered true keeps the key in this browser until the user signs out; false keeps it until the tab is
 *   closed
 */
export function storeKey(key: string, isRemembered: boolean): void {
  forgetKey();
  (isRemembered ? localStorage : sessionStorage).setItem(KEY, key);
}

/** Returns the storage that holds the key: the tab's or the device's. */
export function keyStorage(): Storage {
  return sessionStorage.getItem(KEY) === null && localStorage.getItem(KEY) !== null
    ? localStorage
    : sessionStorage;
}

export function forgetKey(): void {
  for (const storage of [sessionStorage, localStorage])
    for (const name of [KEY, ...BESIDE]) storage.removeItem(name);
}

/**
 * Moves the key from an address that `npm start` printed to the tab's storage. Returns undefined if the address has no
 * key.
 */
export function takeKeyFromAddress(): string | undefined {
  const key = keyInHash(location.hash);
  if (key === undefined) return undefined;
  sessionStorage.setItem(KEY, key);
  history.replaceState(null, '', `#${withoutKey(location.hash)}`);
  return key;
}

/** Calls `onForgotten` when another tab deletes the remembered key. */
export function watchRememberedKey(onForgotten: () => void): () => void {
  const changed = ({ key, newValue }: StorageEvent) => {
    if (key === KEY && newValue === null && storedKey() === undefined) onForgotten();
  };
  addEventListener('storage', changed);
  return () => removeEventListener('storage', changed);
}
