/**
 * Node.js options of the query function. V8 starts a full collection for each 64 MB of buffers, even if most of them
 * are already garbage. With half the default young generation, a cheaper minor collection frees these buffers earlier.
 * With a quarter, the objects of a query of 1,000 sources do not fit into it, and each minor collection copies live
 * objects.
 */
export const QUERY_NODE_OPTIONS = '--max-semi-space-size=16';
