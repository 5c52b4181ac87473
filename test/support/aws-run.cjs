/** Draws the order of the shards' sequence numbers for all stacks of a run, and prints it (scripts/local/aws.py). */
module.exports = () => {
  process.env.SHARD_SEED ??= String(Math.floor(Math.random() * 2 ** 32));
  console.log(`\nshards are ordered by SHARD_SEED=${process.env.SHARD_SEED}`);
};
