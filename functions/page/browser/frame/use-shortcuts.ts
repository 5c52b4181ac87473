import { useEffect } from 'preact/hooks';
import { scaled, shifted, spanOf } from '../view/time-range';
import type { ViewState } from '../view/view-state';
import type { ChangeView } from './use-view-state';

/**
 * Keyboard shortcuts: `/` searches, `[` and `]` move in time, `+` and `-` zoom, `l` returns to the present.
 */
export function useShortcuts(state: ViewState, change: ChangeView): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const { key } = event;
      // For an event inside a shadow root, such as the editor's, the event's own target is only the host of the root.
      // The composed path begins with the real target.
      const [target] = event.composedPath();
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement) return;
      if (target instanceof HTMLElement && target.isContentEditable) return;
      if (target instanceof HTMLInputElement && target.type !== 'checkbox') return;
      const nowS = Date.now() / 1000;
      const { range } = state;
      const { fromS, toS } = spanOf(range, nowS);
      if (key === '/') document.getElementById('search')?.focus();
      else if (key === '[') change({ range: shifted(range, -0.5, nowS) });
      else if (key === ']' && !('lastS' in range)) change({ range: shifted(range, 0.5, nowS) });
      else if (key === '+' || key === '=') change({ range: scaled(range, 0.5, nowS) });
      else if (key === '-') change({ range: scaled(range, 2, nowS) });
      else if (key === 'l') change({ range: { lastS: Math.round(toS - fromS) } });
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, [state]);
}
