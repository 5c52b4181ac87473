/**
 * How a home (home.ts) makes and bounds its unions, and when it starts again without unions. A union is a set
 * of series that come in the same rows and share a layout.
 *
 * Every record of a row has the layout of its union. So a union that has many more series than its rows
 * wastes bytes. Unions with too few series are bad too. Each place at which a sender cuts its requests then
 * makes another union, with a layout that every store keeps.
 */
export interface HomePolicy {
  /** Bounds of one union. Growing it makes new layouts of all its series. */
  readonly union: {
    /** Most series. */
    readonly series: number;
    /** Most bytes of the label keys of a union's series. */
    readonly keyBytes: number;
    /** How often a union may grow. */
    readonly growths: number;
  };
  /**
   * Bounds of a home. A home that would exceed them drops its unions. Until `unionMs` has passed, its rows
   * have layouts of their own.
   */
  readonly home: { readonly unions: number; readonly groups: number };
  /**
   * How much sample time may pass until a home drops all unions and starts again, ms. Series that are no
   * longer sent then disappear from the unions. Starting again costs a new layout for each source, so it
   * takes several hours.
   */
  readonly unionMs: number;
  /**
   * When a home starts again because its rows are sparse, as happens when a Prometheus adds sending queues.
   */
  readonly sparse: {
    /**
     * A row is sparse if it has less than this share of its union's series. If four queues shared one union,
     * each row would have a quarter.
     */
    readonly share: number;
    /**
     * The home starts again once a union has had this many more sparse rows than other rows. It does not at
     * the first one, since a sender may change its series gradually.
     */
    readonly rows: number;
    /**
     * Factor by which `rows` grows with each start, so that a sender of small random rows does not cause
     * starts for ever.
     */
    readonly patience: number;
    /**
     * After a home has started again for sparse rows, a union has at most this many times the series of the
     * largest row that the home had seen.
     */
    readonly rowsAUnion: number;
    /** Series that a union may always have after such a start, however small the rows were. */
    readonly series: number;
  };
  /**
   * When the groups of a home count as crowded, so that new unions are split into more groups. Without this,
   * many queues of one target could put tens of thousands of series into a group.
   */
  readonly crowded: {
    /**
     * Groups are crowded if they have on average this many times the series that `splitBitsFor` allows in one layout.
     */
    readonly series: number;
    /** Groups are also crowded if they have on average this many times the bytes of labels that it allows. */
    readonly keyBytes: number;
    /** Most split bits that crowded unions get in addition. Each bit doubles the number of groups. */
    readonly bits: number;
  };
  /** Bounds of what one request may cost: see {@link Allowance}. */
  readonly request: {
    /** Rows with less than this share of their unions' series are small: they use up `bytes`. */
    readonly smallShare: number;
    /**
     * Bytes of layouts that the small rows of a request may take in its records. Without this bound, a
     * hostile request could cause megabytes of layouts for a few samples.
     */
    readonly bytes: number;
    /**
     * Series that a request may cause to be encoded again, in unions that grow. Without this bound, 900 lines
     * of 16 hosts with 300 new fields each took 30 s.
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

/** What is left of the bounds of one request: see {@link HomePolicy.request}. Its rows use it up. */
export interface Allowance {
  /** Bytes left for layouts of small rows. */
  bytes: number;
  /** Series left that may be encoded again. */
  series: number;
}

/** Returns the whole allowance of a request. */
export function allowanceOf({ request: { bytes, series } }: HomePolicy = HOME_POLICY): Allowance {
  return { bytes, series };
}
