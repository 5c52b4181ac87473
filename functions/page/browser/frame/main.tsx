import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';

export interface MainProps {
  /** The page's title; undefined until it is known. */
  readonly title: string | undefined;
  /** Content beside the main content, or above it on a phone. */
  readonly side?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A view's content. */
export function Main({ title, side, children }: MainProps) {
  useEffect(() => {
    document.title = title === undefined ? 'HeteroTSDB' : `${title} · HeteroTSDB`;
  }, [title]);
  return (
    <div class={side === undefined ? 'body wide' : 'body'}>
      {side}
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}
