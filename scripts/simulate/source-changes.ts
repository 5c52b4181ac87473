import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'esbuild';

const root = join(__dirname, '..', '..');

/** A change of a source file that only a bundle of the simulation gets. */
export interface SourceChange {
  /** Path in the repository. */
  readonly file: string;
  /** A string that occurs exactly once in the file. */
  readonly from: string;
  readonly to: string;
}

/**
 * Changes source files while they are bundled.
 *
 * @throws if a string does not occur exactly once in its file. The change must then be adapted
 */
export function changing(changes: readonly SourceChange[]): Plugin {
  const texts = new Map<string, string>();
  for (const { file, from, to } of changes) {
    const text = texts.get(file) ?? readFileSync(join(root, file), 'utf8');
    if (text.split(from).length !== 2) throw new Error(`${file} does not have this text once: ${from}`);
    texts.set(
      file,
      text.replace(from, () => to),
    );
  }
  return {
    name: 'change sources',
    setup: ({ onLoad }) => {
      for (const [file, contents] of texts) {
        const path = join(root, file).replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
        onLoad({ filter: new RegExp(`^${path}$`) }, () => ({ contents, loader: 'ts' }));
      }
    },
  };
}
