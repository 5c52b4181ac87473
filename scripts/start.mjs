// `npm start`: handles options that need no installation, such as `--help`. Otherwise sets up the checkout and starts
// the stack. This is plain JavaScript, because it runs before any dependency exists, on Node 20 or later.
import { spawn, spawnSync } from 'node:child_process';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseStartOptions } from './local/start-options.mjs';

const scripts = dirname(fileURLToPath(import.meta.url));
const bin = join(scripts, '..', 'node_modules', '.bin');
const args = process.argv.slice(2);

const parsed = parseStartOptions(args);
if ('output' in parsed) console.log(parsed.output);
else if ('error' in parsed) {
  console.error(`start: ${parsed.error}`);
  process.exitCode = 1;
} else start();

function start() {
  const setup = spawnSync(process.execPath, [join(scripts, 'setup.mjs')], { stdio: 'inherit' });
  if (setup.status !== 0) {
    process.exitCode = setup.status ?? 1;
    return;
  }
  // The folder contains Node 24, even if an older Node started this script.
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
  const stack = spawn(join(bin, 'tsx'), [join(scripts, 'start.ts'), ...args], { stdio: 'inherit', env });
  // A terminal sends its interrupt to the stack, too. The stack handles repeated signals once.
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.on(signal, () => signal === 'SIGTERM' && stack.kill(signal));
  stack.once('exit', (code) => {
    process.exitCode = code ?? 1;
  });
}
