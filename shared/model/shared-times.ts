import { concat } from './columns';

type Column = ArrayLike<number>;

/** Ascending times, grouped by aligned units. */
export interface Cuts {
  /** Starts of the units that have times. */
  readonly starts: Float64Array;
  /** For each of these units, the index after its last time. */
  readonly ends: Uint32Array;
  /** Number of times in each of these units. */
  readonly counts: Float64Array;
}

/**
 * Caches results that depend only on timestamps, because the series of a source mostly share one array of
 * them. Make one for each answer, block or read, and drop it afterwards.
 */
export class SharedTimes {
  private readonly cuts = new Map<Column, { readonly unitMs: number; readonly cuts: Cuts }>();
  private readonly folded = new Map<Column, { readonly cuts: Cuts; readonly folded: Column }>();
  private readonly joined = new Map<Column, { readonly parts: readonly Column[]; readonly whole: Column }>();

  /** Whether every unit has at most one of the times. */
  isSparse(times: Column, unitMs: number): boolean {
    return times.length === 0 || this.cut(times, unitMs).starts.length === times.length;
  }

  /** Groups times by unit. There must be at least one time. */
  cut(times: Column, unitMs: number): Cuts {
    const known = this.cuts.get(times);
    if (known?.unitMs === unitMs) return known.cuts;
    const cuts = cutsOf(times, unitMs);
    this.cuts.set(times, { unitMs, cuts });
    return cuts;
  }

  /** Sums the counts of each unit. */
  fold(cuts: Cuts, counts: Column): Column {
    const known = this.folded.get(counts);
    if (known?.cuts === cuts) return known.folded;
    const folded = cuts.starts.map((_, unit) => {
      let sum = 0;
      for (let i = unit === 0 ? 0 : cuts.ends[unit - 1]!; i < cuts.ends[unit]!; i++) sum += counts[i]!;
      return sum;
    });
    this.folded.set(counts, { cuts, folded });
    return folded;
  }

  /** Concatenates columns. Equal parts give the same array. */
  join(parts: readonly Column[]): Column {
    const [first] = parts;
    if (first === undefined || first.length === 0) return concat(parts);
    if (parts.length === 1) return first;
    const known = this.joined.get(first);
    if (known?.parts.length === parts.length && parts.every((part, i) => part === known.parts[i]))
      return known.whole;
    const whole = concat(parts);
    this.joined.set(first, { parts, whole });
    return whole;
  }
}

function cutsOf(times: Column, unitMs: number): Cuts {
  const { length } = times;
  const spanned = Math.floor(times[length - 1]! / unitMs) - Math.floor(times[0]! / unitMs) + 1;
  const room = Math.min(length, spanned);
  const [starts, ends, counts] = [new Float64Array(room), new Uint32Array(room), new Float64Array(room)];
  let units = 0;
  for (let first = 0; first < length; units++) {
    const start = Math.floor(times[first]! / unitMs) * unitMs;
    let end = first + 1;
    while (end < length && times[end]! < start + unitMs) end++;
    starts[units] = start;
    ends[units] = end;
    counts[units] = end - first;
    first = end;
  }
  return {
    starts: units === room ? starts : starts.slice(0, units),
    ends,
    counts: units === room ? counts : counts.slice(0, units),
  };
}
