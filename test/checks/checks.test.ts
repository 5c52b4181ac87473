import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** These checks are tests so that they run beside the other tests and not before them. */
test.each(['types', 'lint'])('npm run %s finds nothing', async (script) => {
  const options = {
    cwd: join(__dirname, '..', '..'),
    maxBuffer: 64 * 1024 * 1024,
    // TypeScript's compiler frees little memory before it ends, so collecting garbage only costs CPU.
    env: { ...process.env, GOGC: 'off' },
  };
  const flaws = await run('npm', ['run', '--silent', script], options).then(
    () => undefined,
    ({ stdout, stderr }: { stdout: string; stderr: string }) => `${stdout}\n${stderr}`,
  );
  if (flaws !== undefined) throw new Error(`npm run ${script}:\n${flaws}`);
});
