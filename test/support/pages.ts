import { readFileSync } from 'node:fs';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { startBrowser } from './browser';
import { lateResponses } from './late-responses';
import { SEED } from './seed';
import { PATIENCE_MS } from './until';

export const DESKTOP = { width: 1400, height: 1000 };
export const PHONE = { width: 390, height: 844 };

/** Chromium logs this text when a request fails or its answer is 4xx. Some tests cause that on purpose. */
export const REQUEST_FAILED = /^Failed to load resource/;

/** A server on a busy machine may respond like this. The page then asks again. */
const SERVER_BUSY = /^Failed to load resource: the server responded with a status of 503/;

/** Maximum wait for the content of a page whose test failed, in ms, and maximum number of characters to show. */
const SEEN_MS = 30_000;
const SEEN_CHARACTERS = 4_000;

const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** Pages of a browser, and the lines that they wrote to their consoles. */
export class Pages {
  browser!: Browser;
  readonly contexts: BrowserContext[] = [];
  private opened = 0;
  /** Errors and warnings of all pages, except for responses of a busy server. */
  readonly errors: string[] = [];

  async start(): Promise<void> {
    this.browser = await startBrowser();
  }

  async stop(): Promise<void> {
    await this.browser?.close();
  }

  /** Closes all pages. Returns the errors since the last call. */
  async close(): Promise<string[]> {
    for (const context of this.contexts.splice(0)) await context.close();
    return this.errors.splice(0);
  }

  /** Declares a test whose error also describes the open pages. */
  test(name: string, body: () => Promise<void>): void {
    test(name, async () => {
      try {
        await body();
      } catch (error) {
        throw new Error(`${(error as Error).message}\n${await this.seen()}`, { cause: error });
      }
    });
  }

  private async seen(): Promise<string> {
    const pages = this.contexts.flatMap((context) => context.pages());
    const texts = pages.map(async (page) => {
      const text = await page.locator('body').ariaSnapshot({ timeout: SEEN_MS }).catch(String);
      return `${new URL(page.url()).hash.replace(/&?key=[^&]*/, '')} shows:\n${text.slice(0, SEEN_CHARACTERS)}`;
    });
    return (await Promise.all(texts)).join('\n');
  }

  /** Opens a page in its own browser context, which shares no storage with other contexts. */
  readonly open = async (address: string, options: BrowserContextOptions = {}): Promise<Page> => {
    // The machine's own language may not be a valid language tag.
    const context = await this.browser.newContext({ viewport: DESKTOP, locale: 'en-US', ...options });
    this.contexts.push(context);
    return this.openIn(context, address);
  };

  readonly openIn = async (context: BrowserContext, address: string): Promise<Page> => {
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    page.on('console', (message) => {
      const isProblem = message.type() === 'error' || message.type() === 'warning';
      if (isProblem && !SERVER_BUSY.test(message.text())) this.errors.push(message.text());
    });
    page.on('pageerror', (error) => this.errors.push(String(error)));
    await page.addInitScript(lateResponses(SEED, this.opened++));
    await page.goto(address);
    return page;
  };
}

/** Accessibility violations that axe finds, with their places. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  return page.evaluate(
    `axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ' ' + target)))`,
  );
}
