import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { PATIENCE_MS } from './until';

/** Path at which `scripts/setup.mjs --browser` installs Chromium if there is none on the PATH. */
const OWN = join(__dirname, '..', '..', '.local', 'browser', 'chromium');

/** Starts a headless Chromium: the one on the PATH, or else the one that setup has installed. */
export async function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath(),
    // Chromium's sandbox fails for root and in many containers. It is not needed, because the pages are our own.
    args: ['--no-sandbox', '--disable-gpu'],
    timeout: PATIENCE_MS,
  });
}

function chromiumPath(): string {
  for (const name of ['chromium', 'chromium-browser', 'google-chrome']) {
    const { status, stdout } = spawnSync('which', [name], { encoding: 'utf8' });
    if (status === 0) return stdout.trim();
  }
  if (!existsSync(OWN))
    throw new Error('there is no Chromium: node scripts/setup.mjs --browser fetches one into .local/browser');
  return OWN;
}
