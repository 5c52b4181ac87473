const { mkdirSync, mkdtempSync } = require('node:fs');
const { join } = require('node:path');
const { startDynamodbLocal } = require('./dynamodb-local.cjs');

/**
 * Runs before the integration tests. Draws the order of the shards' sequence numbers for all stacks of a run
 * (scripts/local/aws.py), and prints it. Makes the folder in which the stand-ins for AWS record the calls
 * that they got (scripts/local/contract.py).
 */
module.exports = async ({ testPathPatterns, testNamePattern }) => {
  process.env.SHARD_SEED ??= String(Math.floor(Math.random() * 2 ** 32));
  const base = join(__dirname, '..', '..', '.local', 'tests');
  mkdirSync(base, { recursive: true });
  process.env.CONTRACT_DIR = mkdtempSync(join(base, 'contract-'));
  const isWhole = testPathPatterns.patterns.length === 0 && !testNamePattern;
  process.env.CONTRACT_IS_WHOLE = isWhole ? '1' : '';
  const others = process.env.OTHER_SERVERS?.split(' ') ?? [];
  if (others.includes('dynamodb')) process.env.DYNAMODB_LOCAL = await startDynamodbLocal();
  console.log(`\nshards are ordered by SHARD_SEED=${process.env.SHARD_SEED}`);
};
