import { join, resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { InvalidSettingError } from '../shared/platform/settings';
import { startDemo } from './local/demo';
import { Problem } from './local/problem';
import { startProgress } from './local/progress';
import { startStack } from './local/stack';

interface StartOptions {
  readonly port: number;
  readonly dataDir: string;
  readonly ephemeral?: boolean;
  readonly demo: boolean;
  readonly json?: boolean;
  readonly set: Record<string, string>;
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new InvalidArgumentError('give 0 to 65535.');
  return port;
}

function collectSetting(text: string, settings: Record<string, string>): Record<string, string> {
  const equals = text.indexOf('=');
  if (equals <= 0) throw new InvalidArgumentError('give key=value, such as window=20s.');
  return { ...settings, [text.slice(0, equals)]: text.slice(equals + 1) };
}

async function start(options: StartOptions): Promise<void> {
  const report = (line: string) => console.error(line);
  const began = Date.now();
  // From the first moment on, so that an interrupted start stops what it has started.
  const asked = new Promise<void>((resolveAsked) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolveAsked());
  });
  if (!options.json) report('starting: synthesis, Valkey, stand-ins for Kinesis, DynamoDB and S3');
  const stack = await startStack({
    port: options.port,
    dataDir: options.ephemeral ? undefined : resolve(options.dataDir),
    settings: options.set,
    report,
  });
  const { addresses } = stack;
  const stopProgress = options.json ? () => {} : startProgress(stack, report);
  const demo = options.demo
    ? await startDemo(addresses.url, addresses.apiKey, report).catch(async (error: Error) => {
        stopProgress();
        await stack.stop();
        throw new Problem(`cannot post this machine's metrics: ${error.message}`);
      })
    : undefined;
  if (options.json) console.log(JSON.stringify(addresses));
  else {
    console.log(
      `ready in ${((Date.now() - began) / 1000).toFixed(1)} s: ${addresses.url}  API key ${addresses.apiKey}`,
    );
    const seen = demo === undefined ? '' : `host=${demo.hostId}&last=30m&`;
    console.log(`look at it: ${addresses.url}/#${seen}key=${addresses.apiKey}`);
  }
  await asked;
  if (!options.json) report('stopping; memory is saved for the next start');
  demo?.stop();
  stopProgress();
  await stack.stop();
}

new Command('npm start --')
  .description('Runs the whole pipeline on this machine, from the template that is deployed.')
  .option('--port <port>', 'port of the HTTP API on 127.0.0.1; 0 for a free one', parsePort, 8080)
  .option('--data-dir <dir>', 'folder that keeps the state from start to start', join('.local', 'data'))
  .addOption(
    new Option('--ephemeral', 'keep nothing: use a new data directory, and remove it at the end').conflicts(
      'dataDir',
    ),
  )
  .option('--no-demo', "do not post this machine's own metrics")
  .option(
    '--json',
    'print one JSON object when ready: url, apiKey, redisUrl, awsEndpoint, stream, table, bucket',
  )
  .option(
    '--set <key=value>',
    'a setting, durations with their unit, such as window=20s; repeatable',
    collectSetting,
    {},
  )
  .action(start)
  .parseAsync()
  .then(
    () => process.exit(0),
    (error: unknown) => {
      const isKnown = error instanceof Problem || error instanceof InvalidSettingError;
      console.error(isKnown ? `start: ${error.message}` : error);
      process.exit(1);
    },
  );
