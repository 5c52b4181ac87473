import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { buildSync } from 'esbuild';
import type { FunctionName } from '../shared/platform/names';
import { bundleForBrowser } from './browser-bundle';
import { BUNDLE_OPTIONS } from './bundle-options';

const FUNCTIONS_FOLDER = join(__dirname, '..', 'functions');

/**
 * Bundles a function's code into one CommonJS file, `index.js`, including the AWS SDK. So the tested SDK is
 * the one that runs, and it loads faster than the runtime's. A folder `browser` is bundled for browsers into
 * `assets/`.
 *
 * Calls esbuild in this process. NodejsFunction would start npx for every function.
 *
 * @param folder holds one folder per function
 * @returns an asset hashed by content, whose `index.handler` is the `handler` of `<folder>/<name>/handler.ts`
 */
export function bundle(name: FunctionName, folder = FUNCTIONS_FOLDER): Code {
  return Code.fromAsset(join(folder, name), {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      image: DockerImage.fromRegistry('never-used'),
      local: {
        tryBundle(outputFolder) {
          buildSync({
            entryPoints: [join(folder, name, 'handler.ts')],
            outfile: join(outputFolder, 'index.js'),
            ...BUNDLE_OPTIONS,
          });
          const browserFolder = join(folder, name, 'browser');
          if (existsSync(browserFolder)) bundleForBrowser(browserFolder, join(outputFolder, 'assets'));
          return true;
        },
      },
    },
  });
}
