import { StatusView } from '../status/status-view';
import { Main } from './main';
import type { ViewProps } from './views';

export function StatusPage({ api, state, onSettled }: ViewProps) {
  return (
    <Main title="Status">
      <StatusView api={api} utc={state.utc} onSettled={onSettled} />
    </Main>
  );
}
