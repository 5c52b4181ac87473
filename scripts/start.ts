import './local/node-version';
import { join, resolve } from 'node:path';
import { InvalidSettingError, settingsSchema } from '../shared/platform/settings';
import { KEY_FILE } from './local/bootstrap';
import { closest } from './local/closest.mjs';
import { startDemo } from './local/demo';
import { Problem } from './local/problem';
import { startProgress } from './local/progress';
import { startStack } from './local/stack';
import { parseStartOptions, type StartOptions } from './local/start-options.mjs';

/** The variable SEED. @throws Problem if it is not a whole number */
function seedOf(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  if (!/^\d+$/.test(text)) throw new Problem(`SEED is ${text}; it must be a whole number`);
  return Number(text);
}

async function start(options: StartOptions): Promise<void> {
  checkNames(options.set);
  const report = (line: string) => console.error(line);
  const began = Date.now();
  // Listen for signals right away, so that an interrupted start stops what it has already started.
  const stopSignal = new Promise<void>((resolveSignal) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolveSignal());
  });
  if (!options.json) report('starting: synthesis, Valkey, stand-ins for Kinesis, DynamoDB and S3');
  const stack = await startStack({
    port: options.port,
    dataDir: options.ephemeral ? undefined : resolve(options.dataDir),
    settings: options.set,
    report,
    // Set by tests, or manually to find more bugs.
    seed: seedOf(process.env.SEED),
    hasFreedoms: process.env.FREEDOMS === 'on',
    unscheduled: process.env.UNSCHEDULED?.split(','),
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
    if (addresses.postUrl !== undefined) console.log(`clients may also post to ${addresses.postUrl}`);
    console.log(`the key is in ${join(stack.dataDir, KEY_FILE)}`);
    console.log(
      `connect a client: npm run ops -- connect telegraf|agent|prometheus|otel|curl --url ${addresses.url}`,
    );
    const seen = demo === undefined ? '' : `host=${demo.hostId}&last=30m&`;
    console.log(`open the page: ${addresses.url}/#${seen}key=${addresses.apiKey}`);
  }
  await stopSignal;
  if (!options.json) report('stopping; saving memory for the next start');
  demo?.stop();
  stopProgress();
  await stack.stop();
}

/** @throws {Problem} if a setting does not exist */
function checkNames(settings: Readonly<Record<string, string>>): void {
  const known = Object.keys(settingsSchema.shape);
  for (const name of Object.keys(settings)) {
    if (known.includes(name)) continue;
    const meant = closest(name, known);
    throw new Problem(
      `--set ${name}: no such setting; ${meant === undefined ? `the settings are ${known.join(', ')}` : `did you mean ${meant}?`}`,
    );
  }
}

async function main(): Promise<void> {
  const parsed = parseStartOptions(process.argv.slice(2));
  if ('output' in parsed) console.log(parsed.output);
  else if ('error' in parsed) throw new Problem(parsed.error);
  else await start(parsed.options);
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    const isKnown = error instanceof Problem || error instanceof InvalidSettingError;
    console.error(isKnown ? `start: ${error.message}` : error);
    process.exit(1);
  },
);
