/**
 * Node.js options of the query function. V8 starts a full collection for each 64 MB of buffers, even if most of them
 * are already garbage. With a small young generation, a cheaper minor collection frees these buffers earlier.
 */
export const QUERY_NODE_OPTIONS = '--max-semi-space-size=8';
