import { concat } from './columns';

type Column = ArrayLike<number>;

/** Ascending times, divided into aligned grains: hours, days or other steps. */
export interface Cuts {
  /** Starts of the grains in which at least one of the times lies. */
  readonly starts: Float64Array;
  /** For each of these grains, the index just past its last time. */
  readonly ends: Uint32Array;
  /** Number of times in each of these grains. */
  readonly counts: Float64Array;
}

/**
 * Caches results that depend only on timestamps. Most series of a source share one array of timestamps, so the results
 * are computed once for all of them. Create one object for each response, block or read, and drop it afterwards.
 */
export class SharedTimes {
  private readonly cuts = new Map<Column, { readonly grainMs: number; readonly cuts: Cuts }>();
  private readonly folded = new Map<Column, { readonly cuts: Cuts; readonly folded: Column }>();
  private readonly joined = new Map<
    Column,
    { readonly parts: readonly Column[]; readonly whole: Float64Array }
  >();

  /** Divides times, at least one, into grains. */
  cut(times: Column, grainMs: number): Cuts {
    const known = this.cuts.get(times);
    if (known?.grainMs === grainMs) return known.cuts;
    const cuts = cutsOf(times, grainMs);
    this.cuts.set(times, { grainMs, cuts });
    return cuts;
  }

  /** Adds up counts by grain. `counts` has one count for each time; the result has one sum for each grain. */
  fold(cuts: Cuts, counts: Column): Column {
    const known = this.folded.get(counts);
    if (known?.cuts === cuts) return known.folded;
    const folded = cuts.starts.map((_, grain) => {
      let sum = 0;
      for (let i = grain === 0 ? 0 : cuts.ends[grain - 1]!; i < cuts.ends[grain]!; i++) sum += counts[i]!;
      return sum;
    });
    this.folded.set(counts, { cuts, folded });
    return folded;
  }

  /** Concatenates arrays. Calls with the same arrays return the same object. */
  join<T extends Column>(parts: readonly T[]): T | Float64Array {
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

function cutsOf(times: Column, grainMs: number): Cuts {
  const { length } = times;
  const spanned = Math.floor(times[length - 1]! / grainMs) - Math.floor(times[0]! / grainMs) + 1;
  const capacity = Math.min(length, spanned);
  const [starts, ends, counts] = [
    new Float64Array(capacity),
    new Uint32Array(capacity),
    new Float64Array(capacity),
  ];
  let grains = 0;
  for (let first = 0; first < length; grains++) {
    const start = Math.floor(times[first]! / grainMs) * grainMs;
    let end = first + 1;
    while (end < length && times[end]! < start + grainMs) end++;
    starts[grains] = start;
    ends[grains] = end;
    counts[grains] = end - first;
    first = end;
  }
  return {
    starts: grains === capacity ? starts : starts.slice(0, grains),
    ends,
    counts: grains === capacity ? counts : counts.slice(0, grains),
  };
}
