import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { context } from '../../cdk.json';
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

const CONTEXT = {
  ...context,
  // Names each function's bundle in the template, as the CLI does.
  'aws:cdk:enable-asset-metadata': true,
};

/**
 * Synthesizes the local stage, unless an earlier start did so from the same sources and settings. Runs the app
 * as the CDK CLI does, without the CLI, which takes as long to start as the app. Other settings of the same
 * sources reuse the functions' bundles.
 *
 * @param cacheDir contains a folder for each combination of sources and settings, and the bundles of the
 *   sources
 * @returns the cloud assembly's folder
 */
export async function synthesize(
  cacheDir: string,
  settings: Readonly<Record<string, string>>,
): Promise<string> {
  const digest = createHash('sha256');
  for (const pattern of SOURCES)
    for (const file of globSync(pattern, { cwd: root }).sort())
      digest.update(file).update(readFileSync(join(root, file)));
  const bundles = join(cacheDir, `bundles-${digest.copy().digest('hex').slice(0, 16)}`);
  const settingsJson = JSON.stringify(settings);
  const assembly = join(cacheDir, digest.update(settingsJson).digest('hex').slice(0, 16));
  if (existsSync(assembly)) return assembly;
  // Written under another name first, so that the folder is always complete and two stacks may synthesize
  // concurrently.
  const output = `${assembly}.${process.pid}`;
  mkdirSync(output, { recursive: true });
  const child = spawn(process.execPath, ['--import', 'tsx', join('infra', 'app.ts')], {
    cwd: root,
    env: {
      ...process.env,
      BUNDLES: bundles,
      // The tests in test/infra validate the templates of every stage. That takes longer than the synthesis.
      CDK_VALIDATION: 'false',
      CDK_OUTDIR: output,
      CDK_CONTEXT_JSON: JSON.stringify({ ...CONTEXT, stage: 'local', settings: settingsJson }),
    },
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
