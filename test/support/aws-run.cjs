const { mkdirSync, mkdtempSync } = require('node:fs');
const { join } = require('node:path');
const { startDynamodbLocal } = require('./dynamodb-local.cjs');
const setSeed = require('./run-seed.cjs');

/**
 * Runs before the integration tests. Sets the seed, and creates the folder in which the stand-ins for AWS record the
 * calls that they receive (scripts/local/contract.py).
 */
module.exports = async ({ testNamePattern }) => {
  setSeed();
  const base = join(__dirname, '..', '..', '.local', 'tests');
  mkdirSync(base, { recursive: true });
  process.env.CONTRACT_DIR = mkdtempSync(join(base, 'contract-'));
  process.env.ALL_NAMES_RUN = testNamePattern ? '' : '1';
  const others = process.env.OTHER_SERVERS?.split(' ') ?? [];
  if (others.includes('dynamodb')) process.env.DYNAMODB_LOCAL = await startDynamodbLocal();
};
