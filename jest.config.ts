import { availableParallelism } from 'node:os';
import type { Config } from 'jest';

const commonJs = [
  '@swc/jest',
  { jsc: { target: 'es2024', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } },
] satisfies [string, object];

/** Packages that come as ES modules only, which jest cannot load as they are. */
const ES_MODULES = ['commander', 'hyparquet', 'hysnappy', 'p-limit', 'p-map', 'yocto-queue'].join('|');

const transform = {
  '^.+\\.ts$': commonJs,
  [`/node_modules/(${ES_MODULES})/.+\\.js$`]: commonJs,
} satisfies Config['transform'];

/**
 * For every test and hook: what a test that hangs may take. A busy machine takes ten times as long as a quiet one, so that no
 * test sets a lower one. Long runs set a higher one with `--testTimeout`.
 */
const TEST_TIMEOUT_MS = 20 * 60_000;

const project = (name: string) => ({
  displayName: name,
  globalSetup: '<rootDir>/test/support/run-seed.cjs',
  transform,
  testMatch: ['**/*.test.ts'],
  moduleNameMapper: { '^fast-check$': '<rootDir>/test/support/fast-check.ts' },
  transformIgnorePatterns: [`/node_modules/(?!(${ES_MODULES})/)`],
  // Before the first test, jest reads all files below this folder.
  roots: [`<rootDir>/test/${name}`],
});

/** With a stand-in for AWS that holds each call against the contract of its service. */
const onServers = (name: string) => ({
  ...project(name),
  globalSetup: '<rootDir>/test/support/aws-run.cjs',
  globalTeardown: '<rootDir>/test/support/aws-run-ended.cjs',
  setupFilesAfterEnv: ['<rootDir>/test/support/aws-contract-hook.ts'],
});

const config: Config = {
  // Three files on two cores at a time, since integration tests wait for a third of their time. Jest would take more
  // than 100 % for a number.
  maxWorkers: Math.ceil(1.5 * availableParallelism()),
  testTimeout: TEST_TIMEOUT_MS,
  testSequencer: '<rootDir>/test/support/longest-first.cjs',
  projects: [
    ...['checks', 'unit', 'infra', 'deploy'].map(project),
    onServers('integration'),
    // Lambda's own runtime, which `npm run test:aws` installs.
    ...(process.env.OTHER_SERVERS === undefined ? [] : [onServers('runtime')]),
    // Programs that are not installed with this repository: `npm run test:peers`.
    ...(process.env.PEERS === undefined ? [] : [project('peers')]),
  ],
};

export default config;
