/**
 * Runs before the tests of each project. Sets the seed of every random choice in the run, and prints it once. By default
 * the seed is 1, so that a result does not depend on luck. `SEED=random` draws one.
 */
module.exports = () => {
  const given = process.env.SEED ?? '1';
  if (!/^(\d+|random)$/.test(given))
    throw new Error(`SEED is ${given}; it must be a whole number or "random"`);
  const seed = given === 'random' ? String(Math.floor(Math.random() * 2 ** 31)) : given;
  if (seed !== process.env.SEED) console.log(`\nSEED=${seed}`);
  process.env.SEED = seed;
};
