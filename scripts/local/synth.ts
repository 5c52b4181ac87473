import { spawn } from 'node:child_process';
import { createHash, type Hash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
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
  // Gives the name of each function's bundle in the template, as the CLI does.
  'aws:cdk:enable-asset-metadata': true,
  // Stack traces are not needed: nobody looks up the code that created a resource.
  'aws:cdk:disable-creation-stack-traces': true,
};

/** Number of most recently used folders that are never removed. Each takes about 13 MB. */
const KEPT_FOLDERS = 20;
/** Maximum time between two touches of a folder by a process that is using it, in ms. */
const TOUCH_MS = 3_600_000;
/** All other folders are removed if they have not been touched for this time, in ms. */
const UNUSED_MS = 24 * TOUCH_MS;

interface CachedFolder {
  readonly name: string;
  /** When a process last used the folder, as Unix time in ms. */
  readonly usedMs: number;
}

/** Returns the cached folders to remove, so that folders for old versions of the sources do not accumulate. */
export function unusedFolders(folders: readonly CachedFolder[], nowMs: number): string[] {
  return folders
    .toSorted((a, b) => b.usedMs - a.usedMs)
    .slice(KEPT_FOLDERS)
    .filter(({ usedMs }) => nowMs - usedMs > UNUSED_MS)
    .map(({ name }) => name);
}

function digestOfSources(): Hash {
  const digest = createHash('sha256');
  for (const pattern of SOURCES)
    for (const file of globSync(pattern, { cwd: root }).sort())
      digest.update(file).update(readFileSync(join(root, file)));
  return digest;
}

/** Returns the folder of the bundles of the current sources, which may not exist yet. */
export function bundlesIn(cacheDir: string, digest = digestOfSources()): string {
  return join(cacheDir, `bundles-${digest.copy().digest('hex').slice(0, 16)}`);
}

/**
 * Synthesizes the local stage, unless an earlier start did so from the same sources and settings. Runs the app as the
 * CDK CLI does, but without the CLI, which takes as long to start as the app. The functions' bundles are reused if only
 * the settings differ.
 *
 * @param cacheDir contains a folder for each combination of sources and settings, and the bundles of the sources
 * @returns the cloud assembly's folder
 */
export async function synthesize(
  cacheDir: string,
  settings: Readonly<Record<string, string>>,
): Promise<string> {
  const digest = digestOfSources();
  const bundles = bundlesIn(cacheDir, digest);
  const settingsJson = JSON.stringify(settings);
  const assembly = join(cacheDir, digest.update(settingsJson).digest('hex').slice(0, 16));
  if (existsSync(assembly)) return used(assembly);
  // Write under another name first, so that the folder is always complete and two stacks may synthesize concurrently.
  const output = `${assembly}.${process.pid}`;
  mkdirSync(output, { recursive: true });
  const child = spawn(process.execPath, ['--import', 'tsx', join('infra', 'app.ts')], {
    cwd: root,
    env: {
      ...process.env,
      // Let later syntheses with other settings load the CDK as compiled for the first one.
      NODE_COMPILE_CACHE: join(cacheDir, 'compiled'),
      BUNDLES: bundles,
      // The tests in test/infra check the templates of every stage. The check takes longer than the synthesis.
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
  touch(bundles);
  const folders = readdirSync(cacheDir).map((name) => ({ name, usedMs: lastUse(join(cacheDir, name)) }));
  for (const name of unusedFolders(folders, Date.now()))
    rmSync(join(cacheDir, name), { recursive: true, force: true });
  return used(assembly);
}

/** Marks an assembly as used for as long as this process runs: its functions are started from this folder. */
function used(assembly: string): string {
  touch(assembly);
  setInterval(() => touch(assembly), TOUCH_MS).unref();
  return assembly;
}

function touch(folder: string): void {
  if (existsSync(folder)) utimesSync(folder, new Date(), new Date());
}

/**
 * Returns when a folder was last used. The folder may be gone, because another process may remove it at the same time.
 */
function lastUse(folder: string): number {
  return statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
}
