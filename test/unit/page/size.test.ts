import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gzipSync } from 'node:zlib';
import { bundleForBrowser } from '../../../infra/browser-bundle';

const folder = mkdtempSync(join(tmpdir(), 'heterotsdb-page-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('the page is one script and one style, named by content, under 60 KB compressed', () => {
  bundleForBrowser(join(__dirname, '..', '..', '..', 'functions', 'page', 'browser'), folder);
  const files = readdirSync(folder).sort();
  expect(files).toEqual([
    'index.html.br',
    expect.stringMatching(/^main-[A-Z0-9]{8}\.js\.br$/),
    expect.stringMatching(/^style-[A-Z0-9]{8}\.css\.br$/),
  ]);
  const contents = files.map((file) => readFileSync(join(folder, file)));
  const page = brotliDecompressSync(contents[0]!).toString();
  for (const file of files.slice(1)) expect(page).toContain(`/assets/${file.slice(0, -'.br'.length)}"`);
  const bytes = contents.reduce((sum, { length }) => sum + length, 0);
  const gzipped = contents.reduce((sum, file) => sum + gzipSync(brotliDecompressSync(file)).length, 0);
  expect(bytes).toBeLessThan(60_000);
  expect(gzipped).toBeLessThan(70_000);
});
