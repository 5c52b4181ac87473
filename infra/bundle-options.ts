import type { BuildOptions } from 'esbuild';

/** esbuild options for a function: one file, CommonJS because ioredis as ESM needs a `createRequire` banner. */
export const BUNDLE_OPTIONS = {
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'cjs',
  mainFields: ['module', 'main'],
  minify: true,
  sourcemap: false,
  legalComments: 'none',
  logLevel: 'warning',
} satisfies BuildOptions;
