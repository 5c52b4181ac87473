import { useEffect, useState } from 'preact/hooks';
import { type Api, ApiError } from '../api/api';
import type { Status } from '../api/status';
import { formatCount, formatDollars, formatTime, formatValue } from '../view/format';
import { type History, NO_HISTORY, withStatus } from './history';
import { HistoryGraphs } from './history-graphs';
import { sampleRate, secondsToRate } from './sample-rate';
import { ColdStage, HotStage, StreamStage, WarmStage } from './stages';

export interface StatusViewProps {
  readonly api: Api;
  readonly utc: boolean;
  readonly onSettled: (error: ApiError | undefined) => void;
}

const EVERY_MS = 5_000;

/** Shows where data is between the stream and the archive, and whether each stage is on time. */
export function StatusView({ api, utc, onSettled }: StatusViewProps) {
  const { status, history, problem } = useStatus(api, onSettled);
  if (status === undefined)
    return (
      <section class="status" aria-busy={problem === undefined}>
        <h1>Status</h1>
        <p class={problem === undefined ? 'note' : 'problem'}>{problem ?? 'reading …'}</p>
      </section>
    );
  return (
    <section class="status">
      <h1>Status</h1>
      <p class="note">as of {formatTime(status.atMs / 1000, utc)}, refreshed every few seconds</p>
      <Totals status={status} history={history} />
      <ol class="pipeline">
        <StreamStage {...status} />
        <HotStage {...status} />
        <WarmStage {...status} />
        <ColdStage {...status} />
      </ol>
      <HistoryGraphs history={history} days={status.usage.days} utc={utc} />
      <Bill cost={status.usage.cost} />
      {problem !== undefined && <p class="problem">{problem}</p>}
    </section>
  );
}

/** The history kept for each key while other views are shown. */
const histories = new WeakMap<Api, History>();

/** Reads the status every few seconds while the page is visible. Also returns why the last read failed. */
function useStatus(
  api: Api,
  onSettled: StatusViewProps['onSettled'],
): {
  readonly status: Status | undefined;
  readonly history: History;
  readonly problem: string | undefined;
} {
  const [status, setStatus] = useState<Status>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    let isOver = false;
    const look = async () => {
      try {
        const seen = document.hidden ? undefined : await api.status();
        if (isOver) return;
        if (seen !== undefined) {
          histories.set(api, withStatus(histories.get(api) ?? NO_HISTORY, seen));
          setStatus(seen);
        }
        setProblem(undefined);
        onSettled(undefined);
      } catch (error) {
        if (isOver) return;
        setProblem((error as Error).message);
        onSettled(error instanceof ApiError ? error : undefined);
      }
      timer = setTimeout(look, EVERY_MS);
    };
    void look();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [api]);
  return { status, history: histories.get(api) ?? NO_HISTORY, problem };
}

function Totals({
  status: { usage },
  history: { samples },
}: {
  readonly status: Status;
  readonly history: History;
}) {
  const rate = sampleRate(samples);
  return (
    <dl class="totals">
      <div>
        <dt>Samples a second</dt>
        <dd>
          {rate === undefined ? (
            <small>known in {secondsToRate(samples)} s</small>
          ) : (
            formatValue(rate, 'float')
          )}
        </dd>
      </div>
      <div>
        <dt>Samples this month</dt>
        <dd>{formatValue(usage.samples, 'integer')}</dd>
      </div>
      <div>
        <dt>Series, active of stored</dt>
        <dd>
          {formatCount(usage.series.active)} <small>of {formatCount(usage.series.stored)}</small>
        </dd>
      </div>
      <div>
        <dt>Cost this month, about</dt>
        <dd>{formatDollars(usage.dollars)}</dd>
      </div>
    </dl>
  );
}

function Bill({ cost }: Pick<Status['usage'], 'cost'>) {
  return (
    <details class="bill">
      <summary>What makes up the cost</summary>
      <table>
        <thead>
          <tr>
            <th scope="col">Dollars</th>
            <th scope="col">For</th>
            <th scope="col">Because of</th>
          </tr>
        </thead>
        <tbody>
          {cost.map(({ what, because, dollars }) => (
            <tr key={what}>
              <td>{dollars.toFixed(4)}</td>
              <td>{what}</td>
              <td>{because}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
