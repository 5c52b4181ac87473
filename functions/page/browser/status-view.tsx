import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type Api, ApiError, type Status } from './api';
import { formatCount, formatDollars, formatDuration, formatTime, formatValue } from './format';
import { type Count, sampleRate, withCount } from './sample-rate';

export interface StatusViewProps {
  readonly api: Api;
  readonly utc: boolean;
  readonly onAnswer: (error: ApiError | undefined) => void;
}

const EVERY_MS = 5_000;
/** Heartbeats pass each minute where nobody posts, so the stream is never known to be nearer than that. */
const STREAM_LATE_MS = 120_000;
/** Flushers run each minute, the archiver each hour. */
const FLUSH_LATE_MS = 180_000;
const ARCHIVE_LATE_MS = 2 * 3_600_000;

/** Where the data is on its way from the stream to the archive, and whether it is on time. */
export function StatusView({ api, utc, onAnswer }: StatusViewProps) {
  const [status, setStatus] = useState<Status>();
  const [counts, setCounts] = useState<readonly Count[]>([]);
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    let isOver = false;
    const look = async () => {
      try {
        const seen = document.hidden ? undefined : await api.status();
        if (isOver) return;
        if (seen !== undefined) {
          setStatus(seen);
          const count = { atMs: seen.atMs, samples: seen.usage.samples };
          setCounts((old) => withCount(old, count));
        }
        setProblem(undefined);
        onAnswer(undefined);
      } catch (error) {
        if (isOver) return;
        setProblem((error as Error).message);
        onAnswer(error instanceof ApiError ? error : undefined);
      }
      timer = setTimeout(look, EVERY_MS);
    };
    void look();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [api]);

  if (status === undefined)
    return (
      <section class="status" aria-busy={problem === undefined}>
        <h1>Status</h1>
        <p class={problem === undefined ? 'note' : 'problem'}>{problem ?? 'looking …'}</p>
      </section>
    );
  const { stream, flush, archive, usage } = status;
  const rate = sampleRate(counts);
  const bytesText = (bytes: number | null) => (bytes === null ? 'not asked' : formatValue(bytes, 'bytes'));
  return (
    <section class="status">
      <h1>Status</h1>
      <p class="note">as of {formatTime(status.atMs / 1000, utc)}, looked at every few seconds</p>
      <dl class="totals">
        <div>
          <dt>Samples a second</dt>
          <dd>{rate === undefined ? 'counting …' : formatValue(rate, 'float')}</dd>
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
      <ol class="pipeline">
        <Stage
          tier="stream"
          title="Stream"
          place="Kinesis"
          isLate={(stream.behindMs ?? 0) > STREAM_LATE_MS}
          figure={stream.behindMs === null ? 'no reader yet' : formatDuration(stream.behindMs)}
          caption={
            stream.behindMs === null ? 'nothing was read from the stream' : 'behind what was acknowledged'
          }
        >
          Acknowledged samples wait here until they are in memory.
        </Stage>
        <Stage
          tier="hot"
          title="Hot"
          place="memory"
          isLate={flush.behindMs > FLUSH_LATE_MS}
          figure={flush.oldestMs === null ? 'empty' : formatDuration(flush.oldestMs)}
          caption={flush.oldestMs === null ? 'nothing waits to be flushed' : 'oldest sample not yet flushed'}
        >
          {bytesText(usage.bytes.hot)} in {counted(flush.windows, 'group-window')}, moved on after{' '}
          {formatDuration(flush.residencyMs)}
          {flush.behindMs > 0 ? `; the oldest is ${formatDuration(flush.behindMs)} over that` : ''}.
        </Stage>
        <Stage
          tier="warm"
          title="Warm"
          place="DynamoDB"
          isLate={(archive?.behindMs ?? 0) > ARCHIVE_LATE_MS}
          figure={archive === null ? 'not asked' : formatCount(archive.openDays)}
          caption={
            archive?.openDays === 1
              ? 'partition-day waits for the archive'
              : 'partition-days wait for the archive'
          }
        >
          About {bytesText(usage.bytes.warm)}.{' '}
          {archive === null
            ? 'There are too many partitions to ask them all.'
            : archive.behindMs > 0
              ? `The oldest should have been archived ${formatDuration(archive.behindMs)} ago.`
              : 'None is overdue.'}
        </Stage>
        <Stage
          tier="cold"
          title="Cold"
          place="S3"
          isLate={false}
          figure={archive === null ? 'not asked' : formatValue(archive.bytes, 'bytes')}
          caption={archive === null ? '' : `${formatCount(archive.samples)} samples archived`}
        >
          {archive !== null && archive.samples > 0
            ? `${(archive.bytes / archive.samples).toFixed(2)} bytes a sample, ${counted(archive.days - archive.openDays, 'partition-day')}.`
            : 'Days come here once they are over and settled.'}
        </Stage>
      </ol>
      <details class="bill">
        <summary>What the cost is made of</summary>
        <table>
          <thead>
            <tr>
              <th scope="col">Dollars</th>
              <th scope="col">For</th>
              <th scope="col">Because of</th>
            </tr>
          </thead>
          <tbody>
            {usage.cost.map(({ what, because, dollars }) => (
              <tr key={what}>
                <td>{dollars.toFixed(4)}</td>
                <td>{what}</td>
                <td>{because}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
      {problem !== undefined && <p class="problem">{problem}</p>}
    </section>
  );
}

function counted(count: number, what: string): string {
  return `${formatCount(count)} ${what}${count === 1 ? '' : 's'}`;
}

interface StageProps {
  readonly tier: string;
  readonly title: string;
  readonly place: string;
  readonly isLate: boolean;
  readonly figure: string;
  readonly caption: string;
  readonly children: ComponentChildren;
}

function Stage({ tier, title, place, isLate, figure, caption, children }: StageProps) {
  return (
    <li class={`stage ${tier}`}>
      <h2>
        {title} <small>{place}</small>
      </h2>
      <p class="figure">{figure}</p>
      <p class="caption">{caption}</p>
      <p class="note">{children}</p>
      <p class={isLate ? 'state late' : 'state'}>{isLate ? 'late' : 'on time'}</p>
    </li>
  );
}
