import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '..', '..');

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

interface Locked {
  readonly resolved?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const read = <T>(file: string) => JSON.parse(readFileSync(join(root, file), 'utf8')) as T;
const { dependencies, devDependencies } = read<Manifest>('package.json');
const { packages } = read<{ packages: Readonly<Record<string, Locked>> }>('package-lock.json');

test('packages that functions bundle are listed under dependencies', () => {
  const files = globSync('{functions,shared}/**/*.{ts,tsx}', { cwd: root });
  expect(files.length).toBeGreaterThan(100);
  const imports = /^(?:import (?!type)[^'\n]*?(?:from )?|\} from )'((?:@[\w-]+\/)?[\w-]+)(?:\/[^']*)?';$/gm;
  const imported = new Set(
    files.flatMap((file) =>
      [...readFileSync(join(root, file), 'utf8').matchAll(imports)].map(([, name]) => name!),
    ),
  );
  // Only types are imported from it, and its types are a separate package.
  imported.delete('aws-lambda');
  expect([...imported].filter((name) => !(name in dependencies))).toEqual([]);
});

test('clients of AWS have one version', () => {
  const versions = Object.entries({ ...dependencies, ...devDependencies }).filter(([name]) =>
    name.startsWith('@aws-sdk/client-'),
  );
  expect(versions.length).toBeGreaterThan(3);
  expect(new Set(versions.map(([, version]) => version)).size).toBe(1);
});

test('npm ci takes the lock file on any platform: it has every optional package, and no address of a registry', () => {
  const lacking = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) =>
        packages[`${path}/node_modules/${name}`] === undefined &&
        packages[`node_modules/${name}`] === undefined,
    ),
  );
  expect(lacking).toEqual([]);
  expect(Object.values(packages).filter(({ resolved }) => resolved !== undefined)).toEqual([]);
});
