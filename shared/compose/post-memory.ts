import { CACHES } from '../model/cache-budgets';

const MB = 1_000_000;

/**
 * The parts of post's memory, in bytes. An instance handles one request at a time. The test
 * `infra/function-memory` adds the parts up, and compares the sum with the memory of the function.
 */
export const POST_MEMORY = {
  /** Configured memory of the function, in MiB. */
  functionMb: 1024,
  /** Memory in use after the function's first request: the SDK, V8 and the runtime. */
  atRest: 120 * MB,
  /**
   * The caches when full. The largest cache holds the series of all tenants; when it is full, it drops all
   * series of the largest tenant.
   */
  caches: [
    CACHES.apiKeys,
    CACHES.tenants,
    CACHES.tenantMeters,
    CACHES.seriesDictionaries,
    CACHES.registeredSources,
    CACHES.existingSeries,
    CACHES.metricMetadata,
    CACHES.layouts,
  ],
  /**
   * Size of the caches of decoded labels and attributes, whose limit is in their own module
   * (protocol/pair-cache.ts).
   */
  smallCaches: 4 * MB,
  /**
   * Memory that the worst body of `test/unit/protocol/hostile-bodies.ts` may add. The body took this much with V8's
   * default options. With {@link POST_MEMORY.nodeOptions} it takes less (decisions/2026-11-22-bounds-of-a-body.md), so
   * there is a margin.
   */
  worstBody: 290 * MB,
  /**
   * Options for Node.js. By default, V8 lets its young generation grow to three times 32 MB while a large body is
   * decoded, although most of it is garbage. A limit of three times 16 MB saves 100 MB on the worst bodies, and costs
   * no CPU time.
   */
  nodeOptions: '--max-semi-space-size=16',
} as const;
