import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const root = join(__dirname, '..', '..');
const run = promisify(execFile);

/** Runs an operator command in a process of its own, and reads its `--json`. */
export async function ops<T>(url: string, ...args: string[]): Promise<T> {
  const tsx = join(root, 'node_modules', '.bin', 'tsx');
  const { stdout } = await run(tsx, [join(root, 'scripts', 'ops.ts'), ...args, '--url', url, '--json']);
  return JSON.parse(stdout) as T;
}
