/** A time in which tenants posted next to nothing: a series that is absent in it says nothing. */
export interface QuietSpan {
  readonly fromMs: number;
  /** The end; undefined while it lasts. */
  readonly toMs?: number;
  /** Samples of a usual minute before it. */
  readonly usual: number;
}

const MINUTE_MS = 60_000;
/** Share of a usual minute's samples below which a minute is quiet. */
const QUIET_SHARE = 0.1;
/** Quiet minutes that begin a span: one alone may be a poster's jitter. */
const QUIET_MINUTES = 2;
/** Minutes by which the usual is known, and those of them that must have samples: ingest that is rare by nature is never quiet. */
const USUAL_MINUTES = 20;
const LEAST_ACTIVE = 16;

/** The whole minutes that {@link ingestQuiet} looks at, since epoch: from, and before. */
export function quietMinutes(nowMs: number): { readonly from: number; readonly before: number } {
  const before = Math.floor(nowMs / MINUTE_MS);
  return { from: before - QUIET_MINUTES - USUAL_MINUTES, before };
}

/**
 * Decides whether ingest is near nothing. A span lasts until a minute has a tenth of the usual samples again, however long that takes.
 *
 * @param samples samples that tenants posted, by minute since epoch; a minute without any may be left out
 * @param last the last span, whether it has ended or not
 * @returns the last span afterwards
 */
export function ingestQuiet(
  samples: ReadonlyMap<number, number>,
  nowMs: number,
  last: QuietSpan | undefined,
): QuietSpan | undefined {
  const { from, before } = quietMinutes(nowMs);
  const at = (minute: number) => samples.get(minute) ?? 0;
  if (last !== undefined && last.toMs === undefined)
    return at(before - 1) < last.usual * QUIET_SHARE ? last : { ...last, toMs: before * MINUTE_MS };
  const active = Array.from({ length: USUAL_MINUTES }, (_, i) => at(from + i)).filter((count) => count > 0);
  if (active.length < LEAST_ACTIVE) return last;
  const usual = active.sort((a, b) => a - b)[Math.floor(active.length / 2)]!;
  for (let minute = before - QUIET_MINUTES; minute < before; minute++)
    if (at(minute) >= usual * QUIET_SHARE) return last;
  return { fromMs: (before - QUIET_MINUTES) * MINUTE_MS, usual };
}
