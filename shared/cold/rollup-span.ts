import type { VersionedDeletion } from '../model/deletion';
import { DAY_MS, HOUR_MS } from '../model/duration';
import { type Id, idOf } from '../model/id';
import { type Day, dayStartMs } from '../model/placement';
import type { TimeRange } from '../model/selection';
import { IDENTITY_BYTES } from './archived-day';

/** The time range that a rollup object covers: a month if its grains are hours, a year if they are days. */
export interface RollupSpan extends TimeRange {
  /** Length of the span's grains, in ms: an hour or a day. */
  readonly grainMs: number;
  /** `2026-11` or `2026`. */
  readonly name: string;
}

/** Lengths of stored grains, in ms. */
export const GRAINS_MS: readonly number[] = [HOUR_MS, DAY_MS];

/** Returns the span that contains a day, for a grain length. */
export function spanOf(grainMs: number, day: Day): RollupSpan {
  return { grainMs, name: nameOf(grainMs, day), ...rangeOf(grainMs, day) };
}

function nameOf(grainMs: number, day: Day): string {
  return grainMs === HOUR_MS ? day.slice(0, 7) : day.slice(0, 4);
}

function rangeOf(grainMs: number, day: Day): TimeRange {
  const [year, month] = day.split('-').map(Number) as [number, number];
  if (grainMs === HOUR_MS) return { fromMs: Date.UTC(year, month - 1, 1), toMs: Date.UTC(year, month, 1) };
  return { fromMs: Date.UTC(year, 0, 1), toMs: Date.UTC(year + 1, 0, 1) };
}

/** For each day of a span, the archived state from which a rollup was made. */
export class SpanDays {
  /** @param bytes the identity of each day's state; zeros mean that the day is not rolled up */
  constructor(
    private readonly span: RollupSpan,
    readonly bytes: Buffer = Buffer.alloc(IDENTITY_BYTES * daysOf(span)),
  ) {}

  /** @param identity {@link ArchivedDay.identity} */
  set(day: Day, identity: string): void {
    this.bytes.write(identity, this.offsetOf(day), 'hex');
  }

  copy(day: Day, from: SpanDays): void {
    const at = this.offsetOf(day);
    from.bytes.copy(this.bytes, at, at, at + IDENTITY_BYTES);
  }

  has(day: Day, identity: string): boolean {
    const at = this.offsetOf(day);
    return this.bytes.toString('hex', at, at + IDENTITY_BYTES) === identity;
  }

  private offsetOf(day: Day): number {
    return IDENTITY_BYTES * Math.round((dayStartMs(day) - this.span.fromMs) / DAY_MS);
  }
}

function daysOf({ fromMs, toMs }: RollupSpan): number {
  return Math.round((toMs - fromMs) / DAY_MS);
}

/**
 * Returns an id for those of a source's deletions that affect a span; '' if there are none. A rollup stores the id of
 * the deletions that were applied to it. If the id of the source's deletions is now different, some deletions were not
 * applied to the rollup.
 */
export function deletionsKey(deletions: readonly VersionedDeletion[], { fromMs, toMs }: RollupSpan): Id | '' {
  const touching = deletions.filter((deletion) => deletion.fromMs < toMs && deletion.toMs > fromMs);
  if (touching.length === 0) return '';
  const texts = touching.map(({ selector, version, ...range }) =>
    JSON.stringify([
      selector.name,
      selector.isPrefix,
      range.fromMs,
      range.toMs,
      version.arrivalMs,
      String(version.sequence),
    ]),
  );
  return idOf('deletions', ...texts.sort());
}
