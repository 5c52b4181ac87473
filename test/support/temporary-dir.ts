import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';

const base = join(__dirname, '..', '..', '.local', 'tests');

/** Makes a folder below the checkout, which the caller removes. */
export function temporaryDir(): string {
  mkdirSync(base, { recursive: true });
  return mkdtempSync(join(base, 'run-'));
}
