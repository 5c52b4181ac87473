import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import type { Widget } from '../../../../shared/registry/dashboard';
import type { ViewProps } from '../frame/views';
import { Breakable } from '../view/breakable';

export interface WidgetProps<T extends Widget['type']> extends ViewProps {
  readonly widget: Extract<Widget, { type: T }>;
  /** Height of a graph's plot, in pixels. */
  readonly height: number;
}

/** The card of a widget. @param title left out if empty */
export function WidgetCard({
  title,
  isWaiting = false,
  children,
}: {
  readonly title: string;
  readonly isWaiting?: boolean;
  readonly children: ComponentChildren;
}) {
  const titleId = useId();
  return (
    <article class="card" aria-labelledby={title === '' ? undefined : titleId} aria-busy={isWaiting}>
      {title !== '' && (
        <header>
          <h2 id={titleId}>
            <Breakable text={title} />
          </h2>
        </header>
      )}
      {children}
    </article>
  );
}

/** Explains why a widget shows nothing. */
export function Problem({ children }: { readonly children: ComponentChildren }) {
  return (
    <p class="problem" role="alert">
      {children}
    </p>
  );
}

/** Returns the result of a computation, or the message of its error. */
export function attempt<T>(compute: () => T): { readonly value?: T; readonly problem?: string } {
  try {
    return { value: compute() };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

/** Wraps `onSettled` so that it ignores refused requests: they concern only the widget, not the page. */
export function unlessRefused(onSettled: ViewProps['onSettled']): ViewProps['onSettled'] {
  return (error) => error?.kind !== 'refused' && onSettled(error);
}
