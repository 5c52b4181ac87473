const { mkdirSync, mkdtempSync } = require('node:fs');
const { join } = require('node:path');
const { startDynamodbLocal } = require('./dynamodb-local.cjs');

/**
 * Runs before the integration tests. For all stacks of a run, draws the order of the shards' sequence numbers
 * (scripts/local/aws.py) and the seed of the freedoms of AWS (scripts/local/freedoms.py), and prints them. Makes the folder in which the stand-ins for AWS record the calls
 * that they got (scripts/local/contract.py).
 */
module.exports = async ({ testPathPatterns, testNamePattern }) => {
  const draw = () => String(Math.floor(Math.random() * 2 ** 32));
  process.env.SHARD_SEED ??= draw();
  process.env.FREEDOMS_ARE_SEEDED = process.env.FREEDOMS_SEED === undefined ? '' : '1';
  process.env.FREEDOMS_SEED ??= draw();
  const base = join(__dirname, '..', '..', '.local', 'tests');
  mkdirSync(base, { recursive: true });
  process.env.CONTRACT_DIR = mkdtempSync(join(base, 'contract-'));
  const isWhole = testPathPatterns.patterns.length === 0 && !testNamePattern;
  process.env.CONTRACT_IS_WHOLE = isWhole ? '1' : '';
  const others = process.env.OTHER_SERVERS?.split(' ') ?? [];
  if (others.includes('dynamodb')) process.env.DYNAMODB_LOCAL = await startDynamodbLocal();
  const { SHARD_SEED, FREEDOMS_SEED } = process.env;
  console.log(
    `\nshards are ordered by SHARD_SEED=${SHARD_SEED}, freedoms of AWS are used by FREEDOMS_SEED=${FREEDOMS_SEED}`,
  );
};
