import { cpSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import type { FunctionName } from '../shared/platform/names';
import { buildFunctions } from './build-functions';

const FUNCTIONS_FOLDER = join(__dirname, '..', 'functions');
const builtFolders = new Map<string, string>();

/**
 * Returns a function's code as an asset hashed by content, whose `index.handler` is the `handler` of
 * `<folder>/<name>/handler.ts`.
 *
 * @param folder contains a folder for each function
 */
export function bundle(name: FunctionName, folder = FUNCTIONS_FOLDER): Code {
  return Code.fromAsset(join(folder, name), {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      image: DockerImage.fromRegistry('never-used'),
      local: {
        tryBundle(outputFolder) {
          cpSync(join(builtFrom(folder), name), outputFolder, { recursive: true });
          return true;
        },
      },
    },
  });
}

/**
 * Builds all functions of a folder when the first function is bundled, and returns the folder with the bundles. The
 * environment variable BUNDLES names a folder that keeps the bundles for later syntheses of the same sources.
 */
function builtFrom(folder: string): string {
  const kept = process.env.BUNDLES;
  if (kept === undefined) {
    const known = builtFolders.get(folder);
    if (known !== undefined) return known;
    const built = mkdtempSync(join(tmpdir(), 'heterotsdb-bundles-'));
    process.once('exit', () => rmSync(built, { recursive: true, force: true }));
    buildFunctions(folder, built);
    builtFolders.set(folder, built);
    return built;
  }
  if (existsSync(kept)) return kept;
  const built = `${kept}.${process.pid}`;
  buildFunctions(folder, built);
  // Rename the folder only when it is complete, because several processes may synthesize at the same time.
  try {
    renameSync(built, kept);
  } catch (error) {
    if (!existsSync(kept)) throw error;
    rmSync(built, { recursive: true });
  }
  return kept;
}
