import { HOUR_MS, MINUTE_MS } from '../model/aggregates';
import type { VersionedDeletion } from '../model/deletion';
import { DAY_MS } from '../model/duration';
import { type Id, idOf } from '../model/id';
import { type Day, dayStartMs } from '../model/placement';
import type { TimeRange } from '../model/selection';
import { IDENTITY_BYTES } from './archived-day';

/** The minutes of a day, the hours of a month, or the days of a year: what one rollup object of a partition has. */
export interface RollupSpan extends TimeRange {
  /** Length of its units: a minute, an hour or a day. */
  readonly unitMs: number;
  /** `2026-11-22`, `2026-11` or `2026`. */
  readonly name: string;
}

/** Lengths of stored units, ms: of every archived day, and where minutes of dense groups are stored too. */
export const UNITS_MS: readonly number[] = [HOUR_MS, DAY_MS];
export const UNITS_WITH_MINUTES_MS: readonly number[] = [...UNITS_MS, MINUTE_MS];

/** The span of a unit that has a day. */
export function spanOf(unitMs: number, day: Day): RollupSpan {
  return { unitMs, name: nameOf(unitMs, day), ...rangeOf(unitMs, day) };
}

function nameOf(unitMs: number, day: Day): string {
  if (unitMs === MINUTE_MS) return day;
  return unitMs === HOUR_MS ? day.slice(0, 7) : day.slice(0, 4);
}

function rangeOf(unitMs: number, day: Day): TimeRange {
  const [year, month] = day.split('-').map(Number) as [number, number];
  const startMs = dayStartMs(day);
  if (unitMs === MINUTE_MS) return { fromMs: startMs, toMs: startMs + DAY_MS };
  if (unitMs === HOUR_MS) return { fromMs: Date.UTC(year, month - 1, 1), toMs: Date.UTC(year, month, 1) };
  return { fromMs: Date.UTC(year, 0, 1), toMs: Date.UTC(year + 1, 0, 1) };
}

/** The archived states of a span's days of which a rollup was made. */
export class RolledDays {
  /** @param bytes an identity for each day of the span; zeros: the day is not rolled up */
  constructor(
    private readonly span: RollupSpan,
    readonly bytes: Buffer = Buffer.alloc(IDENTITY_BYTES * daysOf(span)),
  ) {}

  /** @param identity the state as the manifest names it */
  set(day: Day, identity: string): void {
    this.bytes.write(identity, this.offsetOf(day), 'hex');
  }

  copy(day: Day, from: RolledDays): void {
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

/** Names the deletions of a source that touch a span: a rollup that has applied them bears it. */
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
