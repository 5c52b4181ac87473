import { useEffect, useRef, useState } from 'preact/hooks';
import { decodeState, encodeState, type ViewState } from '../view/view-state';

export type ChangeView = (change: Partial<ViewState>, options?: { readonly replace?: boolean }) => void;

/**
 * The view state, stored in the address. Each change adds an entry to the browser's history, unless it
 * replaces the last one.
 */
export function useViewState(): [ViewState, ChangeView] {
  const [state, setState] = useState(() => decodeState(location.hash));
  const latest = useRef(state);
  latest.current = state;
  useEffect(() => {
    const moved = () => setState(decodeState(location.hash));
    addEventListener('popstate', moved);
    return () => removeEventListener('popstate', moved);
  }, []);
  const change: ChangeView = (changed, { replace = false } = {}) => {
    const next = { ...latest.current, ...changed };
    latest.current = next;
    history[replace ? 'replaceState' : 'pushState'](null, '', `#${encodeState(next)}`);
    setState(next);
  };
  return [state, change];
}
