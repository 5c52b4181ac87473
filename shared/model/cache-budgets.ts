/**
 * The memory budget of each cache: the maximum estimated size of its entries, in bytes. Each Lambda
 * function has the caches of the modules that are bundled into it. For each function, the test `infra/function-memory`
 * adds the budgets of its caches to the memory that its worst request needs, and compares the sum with the function's
 * memory.
 *
 * Smaller caches, such as those of days and placements, have their bounds in their own modules.
 */
export const CACHES = {
  // Caches of all functions that answer requests:
  apiKeys: { name: 'API keys', bytes: 4_000_000 },
  tenants: { name: 'tenants', bytes: 10_000_000 },
  tenantMeters: { name: 'counts of tenants', bytes: 10_000_000 },
  // Caches of the evaluator of rules:
  ruleDictionaries: { name: 'series that rules record', bytes: 64_000_000 },
  // Caches of post and the importer:
  seriesDictionaries: { name: 'series by the names that senders give them', bytes: 360_000_000 },
  // Caches of post:
  registeredSources: { name: 'registered hosts and services', bytes: 16_000_000 },
  existingSeries: { name: 'series of tenants at their limit', bytes: 60_000_000 },
  metricMetadata: { name: 'metadata of metrics', bytes: 16_000_000 },
  // Caches of functions that read the stream:
  checkedLayouts: {
    name: 'well-formed layouts of records, and the hashes of their series',
    bytes: 208_000_000,
  },
  // Caches of functions that append to the hot tier:
  commonLayouts: { name: 'layouts that rows are written in', bytes: 64_000_000 },
  countedSeries: { name: 'hashes of counted series', bytes: 32_000_000 },
  /** Decoded layouts, from any store. */
  layouts: { name: 'layouts', bytes: 64_000_000 },
  /**
   * Large enough for 20,000 hosts with Telegraf: 240,000 layouts, and their entries in the index of series.
   */
  catalogued: { name: 'catalogue entries that this instance wrote', bytes: 208_000_000 },
  // Caches of the query function:
  queryBudgets: { name: 'budgets of queries', bytes: 4_000_000 },
  hostLabels: { name: 'labels of hosts', bytes: 64_000_000 },
  indexes: { name: 'indexes of series', bytes: 200_000_000 },
  selections: { name: 'selected series', bytes: 64_000_000 },
  deletions: { name: 'deletions of sources', bytes: 16_000_000 },
  frames: { name: 'windows of the hot tier', bytes: 384_000_000 },
  warmItems: { name: 'items of the warm tier', bytes: 64_000_000 },
  warmChunks: { name: 'decoded chunks of the warm tier', bytes: 64_000_000 },
  rollups: { name: 'decoded rollups', bytes: 64_000_000 },
} as const;
