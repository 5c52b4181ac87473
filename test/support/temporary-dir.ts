import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';

const base = join(__dirname, '..', '..', '.local', 'tests');

/** A new folder below the checkout, for the caller to remove. */
export function temporaryDir(): string {
  mkdirSync(base, { recursive: true });
  return mkdtempSync(join(base, 'run-'));
}
