import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { buildFunctions } from '../../infra/build-functions';
import { bundle } from '../../infra/bundle';

const folder = mkdtempSync(join(tmpdir(), 'heterotsdb-bundle-'));
const functions = join(folder, 'functions');
const source = (response: string) => `export const handler = async (): Promise<string> => '${response}';\n`;

beforeAll(() => {
  for (const name of ['post', 'query']) {
    mkdirSync(join(functions, name), { recursive: true });
    writeFileSync(join(functions, name, 'handler.ts'), source(name));
  }
});

afterAll(() => {
  delete process.env.BUNDLES;
  rmSync(folder, { recursive: true, force: true });
});

/** Bundles `post` for an assembly in a folder. Returns the asset's folder. */
function bundled(name: string) {
  const outdir = join(folder, name);
  const stack = new Stack(new App({ outdir }), 'Stack');
  bundle('post', functions).bind(stack);
  return join(outdir, readdirSync(outdir).find((file) => file.startsWith('asset.'))!);
}

const load = (asset: string) => createRequire(__filename)(join(asset, 'index.js'));

test('a bundle is one CommonJS file that exports the handler', async () => {
  const asset = bundled('a');
  expect(readdirSync(asset)).toEqual(['index.js']);
  expect(await load(asset).handler()).toBe('post');
});

test('functions are built the same each time', () => {
  for (const name of ['first', 'second']) buildFunctions(functions, join(folder, name));
  for (const name of ['post', 'query']) {
    const [first, second] = ['first', 'second'].map((of) => readFileSync(join(folder, of, name, 'index.js')));
    expect(second).toEqual(first);
  }
});

test('bundles that an earlier synthesis kept are used again', async () => {
  process.env.BUNDLES = join(folder, 'kept');
  expect(await load(bundled('b')).handler()).toBe('post');
  writeFileSync(join(folder, 'kept', 'post', 'index.js'), "exports.handler = () => 'kept';\n");
  expect(await load(bundled('c')).handler()).toBe('kept');
});
