import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { buildSync, type Metafile } from 'esbuild';
import { apiReference } from './api-reference';

/**
 * Builds the files that a function serves to browsers: `main.tsx` and `style.css` of a folder, the modules
 * they import dynamically, and `index.html`, which refers to them. Adds the API reference, `reference.html`,
 * with the folder's `reference.css`. The name of each script and style contains a hash of its content.
 * Browsers load nothing from other hosts.
 *
 * @param folder contains `index.html`, which refers to `/assets/main.js` and `/assets/style.css`
 * @param outputFolder created if missing; gets `NAME.br` for each file, compressed with Brotli at its best
 *   quality
 */
export function bundleForBrowser(folder: string, outputFolder: string): void {
  const { outputFiles, metafile } = buildSync({
    entryPoints: ['main.tsx', 'style.css', 'reference.css'].map((name) => join(folder, name)),
    outdir: outputFolder,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    splitting: true,
    metafile: true,
    tsconfig: join(folder, 'tsconfig.json'),
    bundle: true,
    platform: 'browser',
    target: 'es2022',
    format: 'esm',
    minify: true,
    legalComments: 'none',
    logLevel: 'warning',
    write: false,
  });
  mkdirSync(outputFolder, { recursive: true });
  let page = readFileSync(join(folder, 'index.html'), 'utf8');
  let reference = apiReference();
  for (const { path, contents } of outputFiles) {
    const name = basename(path);
    const plain = `/assets/${name.replace(/-[^-]+(\.\w+)$/, '$1')}`;
    page = page.replace(plain, `/assets/${name}`);
    reference = reference.replace(plain, `/assets/${name}`);
    write(outputFolder, name, contents);
  }
  // Preload static imports; otherwise a browser discovers them only after reading the entry.
  const preloads = staticImports(metafile)
    .map((name) => `<link rel="modulepreload" href="/assets/${name}">`)
    .join('');
  write(outputFolder, 'reference.html', Buffer.from(reference));
  write(outputFolder, 'index.html', Buffer.from(page.replace('</head>', `${preloads}</head>`)));
}

/** Returns the names of the files that `main.tsx` imports statically. */
function staticImports({ outputs }: Metafile): string[] {
  const entry = Object.values(outputs).find(({ entryPoint }) => entryPoint?.endsWith('main.tsx'));
  return (entry?.imports ?? [])
    .filter(({ kind }) => kind === 'import-statement')
    .map(({ path }) => basename(path));
}

function write(folder: string, name: string, contents: Uint8Array): void {
  const compressed = brotliCompressSync(contents, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: contents.length,
    },
  });
  writeFileSync(join(folder, `${name}.br`), compressed);
}
