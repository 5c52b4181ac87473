import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { bundleForBrowser } from './browser-bundle';
import { BUNDLE_OPTIONS } from './bundle-options';

/**
 * Bundles each function's code, including the AWS SDK, into one CommonJS file, `index.js`. Bundling ensures that the
 * tested SDK is the one that runs, and a bundled SDK loads faster than the runtime's. A folder `browser` is bundled
 * for browsers into `assets/`.
 *
 * One call of esbuild builds all functions, so that it parses each shared module only once.
 *
 * @param folder contains a folder for each function, with its `handler.ts`
 * @param output gets a folder for each function
 */
export function buildFunctions(folder: string, output: string): void {
  const names = readdirSync(folder).filter((name) => existsSync(join(folder, name, 'handler.ts')));
  buildSync({
    entryPoints: Object.fromEntries(
      names.map((name) => [`${name}/index`, join(folder, name, 'handler.ts')] as const),
    ),
    outdir: output,
    ...BUNDLE_OPTIONS,
  });
  for (const name of names) {
    const browserFolder = join(folder, name, 'browser');
    if (existsSync(browserFolder)) bundleForBrowser(browserFolder, join(output, name, 'assets'));
  }
}
