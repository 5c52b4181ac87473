/**
 * Bounds on one request body. With these bounds, no body takes more memory than `POST_MEMORY.worstBody`
 * (compose/post-memory.ts).
 *
 * Other bounds are in the modules that need them:
 *
 * - `dictionary/home.ts`: the size of the layouts that a request may cause (`allowanceOfRequest`)
 * - `prometheus/snappy.ts` and `prometheus/write-request.ts`: decoded bytes, series, samples and symbols
 * - `otlp/metrics.ts` and `otlp/otlp.ts`: objects, attributes and buckets
 * - `influx/line-reader.ts`: fields
 * - `mackerel/json.ts`: hosts
 */
export const MAX_REQUEST_SAMPLES = 262_144;
export const MAX_SOURCES = 10_000;
/** Maximum number of rows: pairs of a source and a timestamp. */
export const MAX_ROWS = 32_768;
/** Maximum number of lines of line protocol. It is bounded because each field of a line repeats the line's tags. */
export const MAX_LINES = 65_536;
/** Maximum number of rows with different series. It is bounded because post may make a layout for each of them. */
export const MAX_SERIES_SETS = 10_000;
/** Maximum size of all names and labels of series, in bytes. */
export const MAX_LABEL_BYTES = 32 * 1024 * 1024;
