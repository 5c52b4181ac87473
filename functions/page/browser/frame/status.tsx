import { StatusView } from '../status/status-view';
import { Main } from './main';
import type { ViewProps } from './views';

export function StatusPage({ api, state, onAnswer }: ViewProps) {
  return (
    <Main title="Status">
      <StatusView api={api} utc={state.utc} onAnswer={onAnswer} />
    </Main>
  );
}
