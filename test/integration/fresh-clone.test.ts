import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDir } from '../support/temporary-dir';

const root = join(__dirname, '..', '..');
/** No server listens on this port. */
const NO_REGISTRY = 'http://127.0.0.1:9';

describe('a fresh clone', () => {
  const clone = temporaryDir();

  beforeAll(() => {
    for (const name of ['scripts', 'package.json', 'package-lock.json', '.npmrc'])
      cpSync(join(root, name), join(clone, name), { recursive: true });
  });

  afterAll(() => rmSync(clone, { recursive: true }));

  const start = (...args: string[]) =>
    spawnSync(process.execPath, [join(clone, 'scripts', 'start.mjs'), ...args], {
      cwd: clone,
      encoding: 'utf8',
    });

  test.each([
    { args: ['--help'], status: 0, stdout: /^Usage: npm start -- .*--data-dir <dir>/s, stderr: /^$/ },
    { args: ['-h'], status: 0, stdout: /^Usage: npm start -- /, stderr: /^$/ },
    { args: ['--version'], status: 0, stdout: /^\d+\.\d+\.\d+\n$/, stderr: /^$/ },
    {
      args: ['--data', 'x'],
      status: 1,
      stdout: /^$/,
      stderr: /unknown option '--data'; did you mean --data-dir\?/,
    },
    { args: ['--prot=1'], status: 1, stdout: /^$/, stderr: /unknown option '--prot'; did you mean --port\?/ },
    {
      args: ['--frobnicate'],
      status: 1,
      stdout: /^$/,
      stderr: /unknown option '--frobnicate'; npm start -- --help/,
    },
    { args: ['x'], status: 1, stdout: /^$/, stderr: /unexpected argument 'x'/ },
    { args: ['--port'], status: 1, stdout: /^$/, stderr: /option '--port' needs a value/ },
    {
      args: ['--port', '70000'],
      status: 1,
      stdout: /^$/,
      stderr: /--port 70000 is no port; give 0 to 65535/,
    },
    { args: ['--json=1'], status: 1, stdout: /^$/, stderr: /option '--json' takes no value/ },
    { args: ['--set', 'window'], status: 1, stdout: /^$/, stderr: /--set window is not key=value/ },
  ])('answers npm start -- $args and installs nothing', ({ args, status, stdout, stderr }) => {
    const result = start(...args);
    expect(result).toMatchObject({
      status,
      stdout: expect.stringMatching(stdout),
      stderr: expect.stringMatching(stderr),
    });
    expect(result.stderr.trim().split('\n')).toHaveLength(1);
    expect(existsSync(join(clone, 'node_modules'))).toBe(false);
  });

  test('says that this is the first time and that a registry cannot be reached, and gives up with a log', () => {
    const home = join(clone, 'home');
    mkdirSync(home);
    writeFileSync(join(home, '.npmrc'), `registry=${NO_REGISTRY}/\n`);
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(clone, 'scripts', 'setup.mjs')], {
      cwd: clone,
      encoding: 'utf8',
      env: { PATH: process.env.PATH, HOME: home, PIP_INDEX_URL: `${NO_REGISTRY}/simple` },
    });
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/^setup: the first time, \d+ node modules are installed/m);
    expect(stderr).toMatch(/cannot be reached.*; trying again$/m);
    expect(stderr).toMatch(/failed \(exit code 1\); see \.local\/setup\.log\.\n$/);
    expect(readFileSync(join(clone, '.local', 'setup.log'), 'utf8')).not.toBe('');
  });
});

test('scripts on an older Node say how they are meant', () => {
  const dir = temporaryDir();
  const old = join(dir, 'old-node.cjs');
  writeFileSync(old, "Object.defineProperty(process.versions, 'node', { value: '20.20.2' });\n");
  for (const name of ['start', 'ops', 'bench', 'soak']) {
    const script = join(root, 'scripts', `${name}.ts`);
    const tsx = join(root, 'node_modules', 'tsx', 'dist', 'cli.mjs');
    const shell = spawnSync(process.execPath, [tsx, '--require', old, script], { encoding: 'utf8' });
    expect(shell).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^Node 24 or newer is needed, but this is 20\.20\.2: use npm start, [^\n]*\n$/,
      ),
    });
  }
  rmSync(dir, { recursive: true });
});
