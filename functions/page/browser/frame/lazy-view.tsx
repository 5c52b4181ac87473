import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Main } from './main';
import { Waiting } from './notices';
import type { ViewProps } from './views';

/** A view whose code is loaded when it is first opened. */
export function lazyView(
  title: string,
  fetchView: () => Promise<ComponentType<ViewProps>>,
): ComponentType<ViewProps> {
  return (props) => {
    const [View, setView] = useState<ComponentType<ViewProps>>();
    const [problem, setProblem] = useState<string>();
    useEffect(() => {
      fetchView().then(
        (fetched) => setView(() => fetched),
        () => setProblem('This view could not be loaded. Reload the page.'),
      );
    }, []);
    return (
      <Main title={title}>
        {problem !== undefined ? (
          <p class="notice" role="alert">
            {problem}
          </p>
        ) : View === undefined ? (
          <Waiting>reading …</Waiting>
        ) : (
          <View {...props} />
        )}
      </Main>
    );
  };
}
