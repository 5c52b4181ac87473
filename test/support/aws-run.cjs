const { mkdirSync, mkdtempSync } = require('node:fs');
const { join } = require('node:path');
const { startDynamodbLocal } = require('./dynamodb-local.cjs');

/** Seeds for a run that does not set any, so that its result does not depend on luck. `random` draws a seed. */
const SEEDS = { SHARD_SEED: '1', FREEDOMS_SEED: '2001', KILL_SEED: '1', PAGE_SEED: '1' };

/**
 * Runs before the integration tests. Sets and prints the seeds of a run: of the order of the shards' sequence numbers
 * (scripts/local/aws.py), of AWS's freedoms (scripts/local/freedoms.py), of the moments at which the evaluator is
 * killed (evaluator.ts), and of the delays of the page's requests (late-responses.ts). Creates the folder in which the
 * stand-ins for AWS record the calls that they receive (scripts/local/contract.py).
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
  const seeds = Object.keys(SEEDS).map((name) => `${name}=${process.env[name]}`);
  console.log(`\nseeds: ${seeds.join(' ')}`);
};
