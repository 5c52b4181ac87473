const { existsSync, globSync, readdirSync, readFileSync, rmSync } = require('node:fs');
const { join } = require('node:path');
const { stopDynamodbLocal } = require('./dynamodb-local.cjs');

const INTEGRATION = join(__dirname, '..', 'integration');

const MISSING_KEY =
  'S3 answers 404 for a missing object only to those who may list, otherwise 403: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObject.html';
const LAMBDA_READS = "Lambda's own reading of a stream";

/**
 * Rights that no call uses on this machine, with the purpose of each. A key that begins with a function's name stands
 * for that function only, any other key for all functions.
 */
const USED_ELSEWHERE = {
  'elasticache:Connect': 'a connection to the cache, which has no IAM locally',
  'kinesis:DescribeStream': LAMBDA_READS,
  'kinesis:DescribeStreamSummary': LAMBDA_READS,
  'xray:PutTelemetryRecords': "Lambda's own traces",
  'xray:PutTraceSegments': "Lambda's own traces",
  'archiver s3:ListBucket': MISSING_KEY,
  'operator s3:ListBucket': MISSING_KEY,
  'query s3:ListBucket': MISSING_KEY,
  'ingester s3:ListBucket':
    "Lambda's own look at a mapping's destination: https://docs.aws.amazon.com/lambda/latest/dg/kinesis-on-failure-destination.html",
};

/**
 * Runs after the integration tests, and prints the calls to AWS by operation. The run fails if a call broke the
 * contract without failing a test, or if, in a whole run, functions have a right that no test has used.
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
      .filter((action) => !used.get(name)?.has(action) && !isUsedElsewhere(name, action))
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
  const isWhole =
    process.env.ALL_NAMES_RUN &&
    readdirSync(INTEGRATION).every((file) => existsSync(join(folder, `ended-${file}`)));
  rmSync(folder, { recursive: true, force: true });
  if (breaks.length > 0) fail(`calls broke the contract of AWS:\n${breaks.join('\n')}`);
  if (isWhole && unused.length > 0) fail(`rights without use:\n${unused.join('\n')}`);
};

const isUsedElsewhere = (name, action) =>
  action in USED_ELSEWHERE || `${name.split('-').at(-1)} ${action}` in USED_ELSEWHERE;

/** Fails the run. Throwing an error would do so too, but jest would then not write the tests' results. */
function fail(reason) {
  console.error(`\n${reason}`);
  process.exitCode = 1;
}
