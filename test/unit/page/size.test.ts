import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gzipSync } from 'node:zlib';
import { bundleForBrowser } from '../../../infra/browser-bundle';

const folder = mkdtempSync(join(tmpdir(), 'heterotsdb-page-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const files = () => readdirSync(folder).map((name) => name.slice(0, -'.br'.length));
const sizeOf = (names: readonly string[]) =>
  names.reduce((sum, name) => sum + readFileSync(join(folder, `${name}.br`)).length, 0);

beforeAll(() => bundleForBrowser(join(__dirname, '..', '..', '..', 'functions', 'page', 'browser'), folder));

test('the first page names its files by content, and has under 61 KB compressed', () => {
  const page = brotliDecompressSync(readFileSync(join(folder, 'index.html.br'))).toString();
  const first = files().filter((name) => name === 'index.html' || page.includes(`/assets/${name}"`));
  expect(first).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^main-[A-Z0-9]{8}\.js$/),
      expect.stringMatching(/^style-[A-Z0-9]{8}\.css$/),
    ]),
  );
  const gzipped = first.reduce(
    (sum, name) => sum + gzipSync(brotliDecompressSync(readFileSync(join(folder, `${name}.br`)))).length,
    0,
  );
  expect(sizeOf(first)).toBeLessThan(61_000);
  expect(gzipped).toBeLessThan(70_000);
});

test('the explore view is fetched only when it is opened, and has under 250 KB compressed with the rest', () => {
  expect(files()).toContainEqual(expect.stringMatching(/^explore-view-[A-Z0-9]{8}\.js$/));
  const page = brotliDecompressSync(readFileSync(join(folder, 'index.html.br'))).toString();
  expect(page).not.toContain('explore-view');
  // Other views are fetched when they are opened.
  const fetched = files().filter((name) => !/^(?!explore)[a-z]+-view-/.test(name));
  expect(sizeOf(fetched)).toBeLessThan(250_000);
});
