import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ExploreViewProps } from '../explore/explore-view';
import { Main } from './main';
import { Waiting } from './notices';
import type { ViewProps } from './views';

/** The explore view. Its editor is larger than the rest of the page, so the browser fetches it when it is first opened. */
export function Explore(props: ViewProps) {
  const [View, setView] = useState<ComponentType<ExploreViewProps>>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    import('../explore/explore-view').then(
      ({ ExploreView }) => setView(() => ExploreView),
      () => setProblem('The explore view could not be fetched. Reload the page.'),
    );
  }, []);
  return (
    <Main title="Explore">
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
}
