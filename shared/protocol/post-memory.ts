import { CACHES } from '../model/cache-budgets';

const MB = 1_000_000;

/**
 * Bounds of one body. With these bounds, no body takes more memory than {@link POST_MEMORY.worstBody}. Post may create
 * layouts for each row with different series, so their number has a bound of its own.
 *
 * More bounds are in the modules that need them:
 *
 * - `dictionary/home.ts`: the size of the layouts that a request may cause (`allowanceOfRequest`)
 * - `prometheus/snappy.ts` and `prometheus/write-request.ts`: decoded bytes, series, samples and symbols
 * - `otlp/metrics.ts` and `otlp/otlp.ts`: objects, attributes and buckets
 * - `influx/line-reader.ts` and `influx/line-heads.ts`: fields
 * - `mackerel/json.ts`: hosts
 */
export const MAX_SAMPLES = 262_144;
export const MAX_SOURCES = 10_000;
/** Maximum number of pairs of source and time. */
export const MAX_ROWS = 32_768;
/** Maximum number of lines of line protocol. It is bounded because the line's tags are repeated for each of its fields. */
export const MAX_LINES = 65_536;
/** Maximum number of rows with different series. */
export const MAX_SERIES_SETS = 10_000;
/** Maximum size of all names and labels of series, in bytes. */
export const MAX_LABEL_BYTES = 32 * 1024 * 1024;

/**
 * The parts of post's memory, in bytes. An instance has one request at a time. The test
 * `infra/function-memory` adds the parts up, and compares the sum with the memory of the function.
 */
export const POST_MEMORY = {
  /** Configured memory of the function, in MiB. */
  functionMb: 1024,
  /** Memory in use after the function's first request: the SDK, V8 and the runtime. */
  atRest: 120 * MB,
  /**
   * The caches when full. The largest cache holds the series of all tenants; when full, it evicts those of the largest
   * tenant.
   */
  caches: [
    CACHES.apiKeys,
    CACHES.tenants,
    CACHES.tenantMeters,
    CACHES.seriesDictionaries,
    CACHES.registeredSources,
    CACHES.existingSeries,
    CACHES.metricMetadata,
    CACHES.catalogued,
    CACHES.layouts,
  ],
  /**
   * Small caches, whose limits are in their own modules: 8 MB for orders of series, 4 MB for labels of new series, 4 MB
   * for pairs.
   */
  smallCaches: 16 * MB,
  /**
   * Memory that the worst of the bodies in `test/unit/protocol/hostile-bodies.ts` may add. The worst took this much
   * with V8's default options; with {@link POST_MEMORY.nodeOptions} it takes less
   * (decisions/2026-11-22-bounds-of-a-body.md), so there is a margin.
   */
  worstBody: 290 * MB,
  /**
   * Options of Node.js. By default, V8 lets its young generation grow to three times 32 MB while a large body is
   * decoded, although most of it is garbage. A limit of three times 16 MB saves 100 MB on the worst bodies, and costs
   * no CPU time.
   */
  nodeOptions: '--max-semi-space-size=16',
} as const;
