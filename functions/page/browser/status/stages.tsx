import type { ComponentChildren } from 'preact';
import type { Status } from '../api/status';
import { counted, formatCount, formatDuration, formatValue } from '../view/format';

/**
 * Lag at which the stream counts as late, in ms. A stream without posts gets only a heartbeat each minute, so its lag
 * may appear to be a minute.
 */
const STREAM_LATE_MS = 120_000;
/** Lag at which a stage counts as late, in ms. Flushers run every minute, the archiver every hour. */
const FLUSH_LATE_MS = 180_000;
const ARCHIVE_LATE_MS = 2 * 3_600_000;

export function StreamStage({ stream }: Pick<Status, 'stream'>) {
  const { behindMs } = stream;
  return (
    <Stage
      tier="stream"
      title="Stream"
      place="Kinesis"
      isLate={(behindMs ?? 0) > STREAM_LATE_MS}
      figure={behindMs === null ? 'no reader yet' : formatDuration(behindMs)}
      caption={behindMs === null ? 'nothing has read the stream yet' : 'behind the last acknowledged sample'}
    >
      Acknowledged samples wait here until they are in memory.
    </Stage>
  );
}

export function HotStage({ flush, usage }: Pick<Status, 'flush' | 'usage'>) {
  const { oldestMs, behindMs } = flush;
  return (
    <Stage
      tier="hot"
      title="Hot"
      place="memory"
      isLate={behindMs > FLUSH_LATE_MS}
      figure={oldestMs === null ? 'empty' : formatDuration(oldestMs)}
      caption={oldestMs === null ? 'nothing waits for a flush' : 'since the oldest unflushed sample arrived'}
    >
      {bytesText(usage.bytes.hot)} in {counted(flush.windows, 'group-window')}, flushed after{' '}
      {formatDuration(flush.residencyMs)}
      {behindMs > 0 ? `; the oldest is ${formatDuration(behindMs)} over that` : ''}.
    </Stage>
  );
}

export function WarmStage({ archive, usage }: Pick<Status, 'archive' | 'usage'>) {
  const waiting =
    archive === null
      ? 'There are too many partitions to query them all.'
      : archive.behindMs > 0
        ? `The oldest has been overdue for ${formatDuration(archive.behindMs)}.`
        : 'None is overdue.';
  return (
    <Stage
      tier="warm"
      title="Warm"
      place="DynamoDB"
      isLate={(archive?.behindMs ?? 0) > ARCHIVE_LATE_MS}
      figure={archive === null ? 'not asked' : formatCount(archive.openDays)}
      caption={
        archive?.openDays === 1
          ? 'partition-day waits for the archiver'
          : 'partition-days wait for the archiver'
      }
    >
      About {bytesText(usage.bytes.warm)}. {waiting}
    </Stage>
  );
}

export function ColdStage({ archive }: Pick<Status, 'archive'>) {
  return (
    <Stage
      tier="cold"
      title="Cold"
      place="S3"
      isLate={false}
      figure={archive === null ? 'not asked' : formatValue(archive.bytes, 'bytes')}
      caption={archive === null ? '' : `${counted(archive.samples, 'sample')} archived`}
    >
      {archive !== null && archive.samples > 0
        ? `${(archive.bytes / archive.samples).toFixed(2)} bytes a sample, ${counted(archive.days - archive.openDays, 'partition-day')}.`
        : 'Days are archived once they have ended and late samples have arrived.'}
    </Stage>
  );
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

/** A stage of the pipeline: how far behind it is, how much it holds, and whether it is on time. */
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

function bytesText(bytes: number | null): string {
  return bytes === null ? 'not asked' : formatValue(bytes, 'bytes');
}
