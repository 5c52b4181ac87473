/**
 * How a home (home.ts) makes and bounds its unions, and when it starts them again.
 *
 * Every record of a row has the layout of the row's union. A union with many more series than its rows
 * therefore wastes bytes. Unions with too few series are also bad: each place where a sender cuts its
 * requests makes another union, with a layout that every store keeps.
 */
export interface HomePolicy {
  /** Bounds of one union. Growing a union costs as much as its size. */
  readonly union: {
    readonly series: number;
    /** Bytes of its series' label keys. */
    readonly keyBytes: number;
    readonly growths: number;
  };
  /**
   * Bounds of a home. A home that would exceed them drops its unions, and its rows have layouts of their own
   * until `unionMs` ends.
   */
  readonly home: { readonly unions: number; readonly groups: number };
  /**
   * Span of sample timestamps after which all unions start again, ms. Series that are no longer sent then
   * disappear from the unions. Starting again costs a new layout for each source, so the span is several
   * hours.
   */
  readonly unionMs: number;
  /**
   * When unions start again because their rows are sparse, as happens when a Prometheus adds sending queues.
   */
  readonly sparse: {
    /**
     * A row is sparse when it has less than this share of its union's series. If four queues shared one
     * union, each row would have a quarter.
     */
    readonly share: number;
    /**
     * Number of sparse rows, minus the other rows, after which the unions start again. Not at the first one,
     * since a sender may change its series gradually.
     */
    readonly rows: number;
    /**
     * Each restart multiplies the number of sparse rows for the next one by this, so that a sender of small
     * random rows does not cause restarts for ever.
     */
    readonly patience: number;
    /**
     * After a restart, a union has at most this many times the series of the largest row, but `series` are
     * always allowed.
     */
    readonly rowsAUnion: number;
    /** Number of series that a union may always have after a restart. */
    readonly series: number;
  };
  /**
   * When the groups of a home count as crowded: when they have on average this many times the series, or the
   * bytes of labels, that `splitBitsFor` allows in one layout. Without this, many queues of one target could
   * put tens of thousands of series into a group.
   */
  readonly crowded: {
    readonly series: number;
    readonly keyBytes: number;
    /** Most additional split bits for the unions of a crowded home. Each bit halves the series of a frame. */
    readonly bits: number;
  };
  /** Bounds of what one request may cost: see {@link Allowance}. */
  readonly request: {
    /** Rows with less than this share of their unions' series use up `bytes`. */
    readonly smallShare: number;
    /**
     * Bytes of layouts that small rows may take. Without this bound, a hostile request could make megabytes
     * of layouts for a few samples.
     */
    readonly bytes: number;
    /**
     * Series that growing unions may encode again. Without this bound, 900 lines with 300 new fields each, of
     * 16 hosts, took 30 s.
     */
    readonly series: number;
  };
}

export const HOME_POLICY: HomePolicy = {
  union: { series: 16_384, keyBytes: 2_000_000, growths: 64 },
  home: { unions: 2_048, groups: 2 ** 18 },
  unionMs: 6 * 3_600_000,
  sparse: { share: 0.4, rows: 16, patience: 4, rowsAUnion: 2.5, series: 1_024 },
  crowded: { series: 4, keyBytes: 2, bits: 1 },
  request: { smallShare: 1 / 4, bytes: 1_000_000, series: 100_000 },
};

/** What the unions of one request may still cost. Rows use it up. */
export interface Allowance {
  /** Bytes left for layouts of rows that have a small share of their unions' series. */
  bytes: number;
  /** Series left for growth: when a row's new series join a union, its old series are encoded again. */
  series: number;
}

/** Returns a request's initial allowance. */
export function allowanceOf({ request: { bytes, series } }: HomePolicy = HOME_POLICY): Allowance {
  return { bytes, series };
}
