import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { bundle } from '../../infra/bundle';

const folder = mkdtempSync(join(tmpdir(), 'heterotsdb-bundle-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a bundle is one CommonJS file that exports the handler, and the same each time', () => {
  mkdirSync(join(folder, 'post'));
  writeFileSync(
    join(folder, 'post', 'handler.ts'),
    "export const handler = async (): Promise<string> => 'posted';\n",
  );
  const keys = ['a', 'b'].map((name) => {
    const outdir = join(folder, name);
    const stack = new Stack(new App({ outdir }), 'Stack');
    const { s3Location } = bundle('post', folder).bind(stack);
    const [asset] = readdirSync(outdir).filter((file) => file.startsWith('asset.'));
    expect(readdirSync(join(outdir, asset!))).toEqual(['index.js']);
    expect(typeof createRequire(__filename)(join(outdir, asset!, 'index.js')).handler).toBe('function');
    return s3Location!.objectKey;
  });
  expect(keys[1]).toBe(keys[0]);
});
