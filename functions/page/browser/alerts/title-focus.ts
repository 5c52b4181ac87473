import type { RefObject } from 'preact';
import { useLayoutEffect } from 'preact/hooks';

/**
 * Moves the focus to the title of an alert's card when the focused element is removed from the card. Otherwise the
 * focus would be lost.
 */
export function useTitleFocus(removed: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const element = removed.current!;
    // Preact calls this function before it removes the element from the page.
    return () => {
      if (element.contains(document.activeElement))
        element.closest('article')?.querySelector('button')?.focus();
    };
  }, [removed]);
}
