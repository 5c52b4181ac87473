/**
 * Node.js options of query. V8 starts a full collection for each 64 MB of buffers, even if most of them are
 * dead already. With a small young generation, a cheaper minor collection frees the dead buffers before that.
 */
export const QUERY_NODE_OPTIONS = '--max-semi-space-size=8';
