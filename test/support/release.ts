import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { BUNDLE_OPTIONS } from '../../infra/bundle-options';
import { synthesize } from '../../scripts/local/synth';
import { readAssembly, type Template } from '../../scripts/local/template';
import type { FORMATS, FormatVersions } from '../../shared/model/formats';
import { ENV } from '../../shared/platform/names';
import { temporaryDir } from './temporary-dir';

const root = join(__dirname, '..', '..');

export type Formats = Readonly<Record<keyof typeof FORMATS, FormatVersions>>;

/**
 * Builds this tree as a release with another table of formats (shared/model/formats.ts): its bundles, and its template with
 * that release's defaults.
 *
 * @returns the folder of the cloud assembly, for the caller to remove
 */
export async function buildRelease(
  settings: Readonly<Record<string, string>>,
  formats: Formats,
): Promise<string> {
  const folder = temporaryDir();
  cpSync(await synthesize(join(root, '.local', 'synth'), settings), folder, { recursive: true });
  for (const file of globSync('*.template.json', { cwd: folder })) {
    const template = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Template;
    for (const { Properties } of Object.values(template.Resources ?? {})) {
      const environment = Properties?.Environment as { Variables: Record<string, string> } | undefined;
      const given = environment?.Variables[ENV.settings];
      if (given === undefined) continue;
      const chosen = Object.entries(formats).map(([name, { writes }]) => [`${name}Format`, writes[0]]);
      environment!.Variables[ENV.settings] = JSON.stringify({
        ...JSON.parse(given),
        ...Object.fromEntries(chosen),
      });
    }
    writeFileSync(join(folder, file), JSON.stringify(template));
  }
  let isReplaced = false;
  const tables: Plugin = {
    name: 'formats of another release',
    setup: ({ onLoad }) => {
      const contents = `export const FORMATS = ${JSON.stringify(formats)};`;
      onLoad({ filter: /[\\/]shared[\\/]model[\\/]formats\.ts$/ }, () => {
        isReplaced = true;
        return { contents, loader: 'ts' };
      });
    },
  };
  const handlerOf = (name: string) => join(root, 'functions', name.split('-').at(-1)!, 'handler.ts');
  await build({
    ...BUNDLE_OPTIONS,
    // One build, so that shared modules are parsed once.
    entryPoints: Object.fromEntries(
      readAssembly(folder).functions.map(({ name, codeDir }) => [
        join(relative(folder, codeDir), 'index'),
        handlerOf(name),
      ]),
    ),
    outdir: folder,
    plugins: [tables],
  });
  if (!isReplaced) throw new Error('the bundles do not contain shared/model/formats.ts');
  return folder;
}
