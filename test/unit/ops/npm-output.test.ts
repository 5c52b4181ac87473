import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(__dirname, '..', '..', '..');

test('npm prints nothing of its own on stdout, so that --json can be piped', () => {
  // Remove the variables that an npm around this test sets, as in a plain shell.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)));
  const printed = execFileSync('npm', ['run', 'ops', '--', '--help'], {
    cwd: root,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  expect(printed).toMatch(/^Usage: ops /);
});
