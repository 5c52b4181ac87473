/**
 * How a home (home.ts) makes, bounds and begins its unions anew.
 *
 * Post has a union's layout in every record of a row, so a union that has many series more than its rows wastes bytes. A union that has
 * too few is made anew for each cut of a sender, with a layout that every store keeps.
 */
export interface HomePolicy {
  /** Bounds of one union, whose growth costs as much as it is large. */
  readonly union: {
    readonly series: number;
    /** Bytes of its series' label keys. */
    readonly keyBytes: number;
    readonly growths: number;
  };
  /** Bounds of a home. One that would have more drops its unions; its rows have layouts of their own until `unionMs` ends. */
  readonly home: { readonly unions: number; readonly groups: number };
  /**
   * Sample time after which all unions begin anew, ms: series that are no longer sent leave with the old ones. They take a new layout
   * of each source with them, so it is hours.
   */
  readonly unionMs: number;
  /** When unions begin anew because their rows have become sparse, as when a Prometheus has more queues than before. */
  readonly sparse: {
    /** A row is sparse when it has less than this share of its union's series. Four queues of one union would have a quarter each. */
    readonly share: number;
    /** Sparse rows, less the others, after which the unions begin anew: a sender may change its series step by step. */
    readonly rows: number;
    /** Each time it happens, the next time takes this many times as many rows: a sender of small random rows is not relearnt for ever. */
    readonly patience: number;
    /** Afterwards a union has at most this many times the series of the largest row, but may always have `series`. */
    readonly rowsAUnion: number;
    /** Series that a union may always have afterwards. */
    readonly series: number;
  };
  /**
   * When the groups of a home are crowded: on average they have this many times the series, or the bytes of labels, that
   * `splitBitsFor` allows one layout. Many queues of one target would put tens of thousands of series into a group.
   */
  readonly crowded: {
    readonly series: number;
    readonly keyBytes: number;
    /** A crowded home's unions have at most this many bits of split more than they need: a bit halves the frames of their rows. */
    readonly bits: number;
  };
  /** What unions may cost one request: see {@link Allowance}. */
  readonly request: {
    /** A row with less than this share of its unions' series draws on `bytes`. */
    readonly smallShare: number;
    /** A hostile request would make megabytes of layouts of a few samples. */
    readonly bytes: number;
    /** 900 lines of 300 new fields each, of 16 hosts, took 30 s without a bound. */
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

/** What the unions of one request may still cost. Each row uses some of it up. */
export interface Allowance {
  /** Bytes left for layouts of rows that have a small share of their unions' series. */
  bytes: number;
  /** Series left for growth: when a row's new series join a union, its old series are encoded again. */
  series: number;
}

/** A request's allowance, as it begins. */
export function allowanceOf({ request: { bytes, series } }: HomePolicy = HOME_POLICY): Allowance {
  return { bytes, series };
}
