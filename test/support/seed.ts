/** The seed of every random choice in this run; run-seed.cjs sets it. */
export const SEED = Number(process.env.SEED);
