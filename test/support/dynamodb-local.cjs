const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { createServer } = require('node:net');
const { join } = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');

const folder = join(__dirname, '..', '..', '.local', 'other-servers', 'lib');
let server;

/** Starts AWS's own DynamoDB Local for all stacks of a run. @returns its address */
exports.startDynamodbLocal = async () => {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  const path = ['-Xmx1g', `-Djava.library.path=${folder}`, '-cp', join(folder, '*')];
  const main = join(__dirname, 'LoopbackDynamodb.java');
  server = spawn('java', [...path, main, '-inMemory', '-disableTelemetry', '-port', String(port)], {
    stdio: 'ignore',
    // DynamoDB Local writes a file into its working directory.
    cwd: folder,
  });
  const url = `http://127.0.0.1:${port}`;
  for (;;) {
    if (server.exitCode !== null) throw new Error(`DynamoDB Local ended with ${server.exitCode}`);
    // DynamoDB Local refuses a request without a signature. That shows that it is listening.
    if (await fetch(url).catch(() => undefined)) return url;
    await sleep(100);
  }
};

exports.stopDynamodbLocal = () => server?.kill();
