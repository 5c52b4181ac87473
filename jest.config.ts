import type { Config } from 'jest';

const transform = {
  '^.+\\.ts$': [
    '@swc/jest',
    { jsc: { target: 'es2024', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } },
  ],
} satisfies Config['transform'];

const project = (name: string) => ({
  displayName: name,
  transform,
  testMatch: [`<rootDir>/test/${name}/**/*.test.ts`],
  modulePathIgnorePatterns: ['<rootDir>/cdk.out', '<rootDir>/.local'],
});

const config: Config = {
  // Most of an integration test is waiting for servers: as many at a time as there are cores.
  maxWorkers: '100%',
  projects: [project('unit'), project('integration'), project('infra'), project('deploy')],
};

export default config;
