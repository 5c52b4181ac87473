// Options of `npm start`. This is plain JavaScript without dependencies, so that a fresh clone can print help and
// report a wrong option before anything is installed.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { closest } from './closest.mjs';

/**
 * @typedef {object} StartOptions
 * @property {number} port
 * @property {string} dataDir
 * @property {boolean} ephemeral
 * @property {boolean} demo
 * @property {boolean} json
 * @property {Record<string, string>} set
 */

const HELP = `Usage: npm start -- [options]

Runs the whole pipeline on this machine, from the same template that is deployed to AWS.

Options:
  --port <port>      port of the HTTP API on 127.0.0.1; 0 for a free one (default: 8080)
  --data-dir <dir>   directory that keeps the data between starts (default: .local/data)
  --ephemeral        use a temporary data directory, deleted on exit
  --no-demo          do not post this machine's own metrics
  --json             print a JSON object when ready: url, apiKey, redisUrl, awsEndpoint, stream, table, bucket
  --set <key=value>  override a setting, such as window=20s; repeatable
  --version          print the version
  -h, --help         print this help`;

const OPTIONS = /** @type {const} */ ({
  port: { type: 'string' },
  'data-dir': { type: 'string' },
  ephemeral: { type: 'boolean' },
  'no-demo': { type: 'boolean' },
  json: { type: 'boolean' },
  set: { type: 'string' },
  version: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
});

/**
 * Parses the arguments.
 *
 * @param {readonly string[]} args
 * @returns {{ readonly options: StartOptions } | { readonly output: string } | { readonly error: string }}
 *   the options to start with, or a text to print instead of starting, or a sentence that says which argument is
 *   wrong
 */
export function parseStartOptions(args) {
  const { tokens } = parseArgs({ args: [...args], options: OPTIONS, strict: false, tokens: true });
  /** @type {StartOptions} */
  const options = {
    port: 8080,
    dataDir: join('.local', 'data'),
    ephemeral: false,
    demo: true,
    json: false,
    set: {},
  };
  let hasDataDir = false;
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue;
    if (token.kind === 'positional')
      return { error: `unexpected argument '${token.value}'; npm start -- --help lists the options` };
    const { name, rawName, value } = token;
    const known = Object.hasOwn(OPTIONS, name)
      ? OPTIONS[/** @type {keyof typeof OPTIONS} */ (name)]
      : undefined;
    if (known === undefined) return { error: `unknown option '${rawName}'${hint(name)}` };
    if (known.type === 'boolean' && value !== undefined)
      return { error: `option '${rawName}' takes no value` };
    if (known.type === 'string' && (value === undefined || value === ''))
      return { error: `option '${rawName}' needs a value` };
    if (name === 'help') return { output: HELP };
    if (name === 'version') return { output: version() };
    if (name === 'ephemeral') options.ephemeral = true;
    if (name === 'no-demo') options.demo = false;
    if (name === 'json') options.json = true;
    if (name === 'data-dir') {
      options.dataDir = /** @type {string} */ (value);
      hasDataDir = true;
    }
    if (name === 'port') {
      options.port = Number(value);
      if (!/^\d+$/.test(/** @type {string} */ (value)) || options.port > 65_535)
        return { error: `--port ${value} is no port; give 0 to 65535` };
    }
    if (name === 'set') {
      const [, key, setting] = /^([^=]+)=(.*)$/s.exec(/** @type {string} */ (value)) ?? [];
      if (key === undefined) return { error: `--set ${value} is not key=value, such as window=20s` };
      options.set[key] = setting;
    }
  }
  if (options.ephemeral && hasDataDir) return { error: "'--ephemeral' cannot be used with '--data-dir'" };
  return { options };
}

/** @param {string} name */
function hint(name) {
  const meant = closest(name, Object.keys(OPTIONS));
  return meant === undefined ? '; npm start -- --help lists the options' : `; did you mean --${meant}?`;
}

function version() {
  const file = join(fileURLToPath(import.meta.url), '..', '..', '..', 'package.json');
  return JSON.parse(readFileSync(file, 'utf8')).version;
}
