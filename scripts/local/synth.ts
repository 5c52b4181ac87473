import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Problem } from './problem';

const root = join(__dirname, '..', '..');

/** Source files of templates and bundles. */
const SOURCES = [
  'infra/**/*.ts',
  'functions/**/*.{ts,tsx,json,css,html}',
  'shared/**/*.ts',
  'cdk.json',
  'package-lock.json',
  'tsconfig.json',
];

/**
 * Synthesizes the local stage with the CDK CLI, unless an earlier start did so from the same sources and
 * settings.
 *
 * @param cacheDir contains a folder for each combination of sources and settings
 * @returns the cloud assembly's folder
 */
export async function synthesize(
  cacheDir: string,
  settings: Readonly<Record<string, string>>,
): Promise<string> {
  const digest = createHash('sha256').update(JSON.stringify(settings));
  for (const pattern of SOURCES)
    for (const file of globSync(pattern, { cwd: root }).sort())
      digest.update(file).update(readFileSync(join(root, file)));
  const assembly = join(cacheDir, digest.digest('hex').slice(0, 16));
  if (existsSync(assembly)) return assembly;
  // Written under another name first, so that the folder is always complete and two stacks may synthesize
  // concurrently.
  const output = `${assembly}.${process.pid}`;
  mkdirSync(output, { recursive: true });
  const cdk = join(root, 'node_modules', '.bin', 'cdk');
  const context = ['-c', 'stage=local', '-c', `settings=${JSON.stringify(settings)}`];
  const child = spawn(process.execPath, [cdk, 'synth', '--quiet', '--output', output, ...context], {
    cwd: root,
    // The CLI writes notices and account data to its home; keep them inside the checkout.
    env: { ...process.env, HOME: cacheDir, CDK_DISABLE_VERSION_CHECK: '1', CI: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      text += chunk;
    });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Problem(`synthesis failed:\n${text.trim()}`);
  try {
    renameSync(output, assembly);
  } catch (error) {
    if (!existsSync(assembly)) throw error;
    rmSync(output, { recursive: true, force: true });
  }
  return assembly;
}
