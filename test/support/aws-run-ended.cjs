const { existsSync, globSync, readFileSync, rmSync } = require('node:fs');
const { join } = require('node:path');
const { stopDynamodbLocal } = require('./dynamodb-local.cjs');

/** Actions that no test uses, and who uses them. */
const USED_ELSEWHERE = {
  'elasticache:Connect': 'a connection to the cache, which has no IAM locally',
  'kinesis:DescribeStream': "Lambda's own reading of a stream",
  'kinesis:DescribeStreamSummary': "Lambda's own reading of a stream",
  'kinesis:ListStreams': "Lambda's own reading of a stream",
  'kinesis:SubscribeToShard': "Lambda's own reading of a stream",
  'xray:PutTelemetryRecords': "Lambda's own traces",
  'xray:PutTraceSegments': "Lambda's own traces",
};

/**
 * Runs after the integration tests, and prints the calls to AWS by operation. Fails if a call broke the
 * contract but no test failed for it. After a run of all tests, also prints the actions that functions may
 * use but did not use in any test.
 */
module.exports = () => {
  stopDynamodbLocal();
  const folder = process.env.CONTRACT_DIR;
  const files = globSync('**/calls-*.json', { cwd: folder });
  const journals = files.map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')));
  const calls = new Map();
  const used = new Map();
  const allowed = new Map();
  const add = (map, key, values) => map.set(key, new Set([...(map.get(key) ?? []), ...values]));
  for (const journal of journals) {
    for (const [key, count] of Object.entries(journal.calls)) {
      const operation = key.split(' ')[1];
      calls.set(operation, (calls.get(operation) ?? 0) + count);
    }
    for (const [name, actions] of Object.entries(journal.actions)) add(used, name, actions);
    for (const [name, actions] of Object.entries(journal.allowed)) add(allowed, name, actions);
  }
  const freedoms = new Map();
  for (const file of globSync('**/freedoms-*.json', { cwd: folder }))
    for (const [name, count] of Object.entries(JSON.parse(readFileSync(join(folder, file), 'utf8'))))
      freedoms.set(name, (freedoms.get(name) ?? 0) + count);
  const breaks = globSync('**/breaks.jsonl', { cwd: folder }).flatMap((file) => {
    const reported = join(folder, file, '..', 'reported');
    const lines = readFileSync(join(folder, file), 'utf8').trimEnd().split('\n');
    return lines.slice(existsSync(reported) ? Number(readFileSync(reported, 'utf8')) : 0);
  });
  const unused = [...allowed].flatMap(([name, actions]) =>
    [...actions]
      .filter((action) => !used.get(name)?.has(action) && !(action in USED_ELSEWHERE))
      .map((action) => `${name} may ${action}, and no test makes it do so`),
  );
  const sorted = [...calls].sort(([, a], [, b]) => b - a);
  const sum = sorted.reduce((total, [, count]) => total + count, 0);
  if (sum > 0) {
    const list = sorted.map(([operation, count]) => `${operation} ${count}`).join(', ');
    console.log(
      `\n${sum} calls to AWS of ${sorted.length} operations were as its contracts have them: ${list}`,
    );
  }
  if (freedoms.size > 0)
    console.log(
      `freedoms of AWS that were used: ${[...freedoms].map(([name, count]) => `${name} ${count}`).join(', ')}`,
    );
  rmSync(folder, { recursive: true, force: true });
  if (breaks.length > 0) throw new Error(`calls broke the contract of AWS:\n${breaks.join('\n')}`);
  if (process.env.CONTRACT_IS_WHOLE && unused.length > 0)
    console.log(`\nrights without use:\n${unused.join('\n')}`);
};
