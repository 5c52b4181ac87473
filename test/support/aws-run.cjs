const { mkdirSync, mkdtempSync } = require('node:fs');
const { join } = require('node:path');
const { startDynamodbLocal } = require('./dynamodb-local.cjs');

/** Seeds of a run that names none, so that its result does not depend on luck. `random` draws one. */
const SEEDS = { SHARD_SEED: '1', FREEDOMS_SEED: '2001' };

/**
 * Runs before the integration tests. Sets and prints the seeds that all stacks of a run use: one for the order of the
 * shards' sequence numbers (scripts/local/aws.py), one for the freedoms of AWS (scripts/local/freedoms.py). Makes the
 * folder in which the stand-ins for AWS record received calls (scripts/local/contract.py).
 */
module.exports = async ({ testNamePattern }) => {
  const draw = () => String(Math.floor(Math.random() * 2 ** 32));
  for (const [name, usual] of Object.entries(SEEDS)) {
    const seed = process.env[name] ?? usual;
    process.env[name] = seed === 'random' ? draw() : seed;
  }
  const base = join(__dirname, '..', '..', '.local', 'tests');
  mkdirSync(base, { recursive: true });
  process.env.CONTRACT_DIR = mkdtempSync(join(base, 'contract-'));
  process.env.ALL_NAMES_RUN = testNamePattern ? '' : '1';
  const others = process.env.OTHER_SERVERS?.split(' ') ?? [];
  if (others.includes('dynamodb')) process.env.DYNAMODB_LOCAL = await startDynamodbLocal();
  const { SHARD_SEED, FREEDOMS_SEED } = process.env;
  console.log(
    `\nshards are ordered by SHARD_SEED=${SHARD_SEED}, freedoms of AWS are used by FREEDOMS_SEED=${FREEDOMS_SEED}`,
  );
};
