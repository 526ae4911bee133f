/** A real Chromium, one for a test file. Whatever a page complains of, a breach of its security policy too, fails its test. */
import { deepStrictEqual } from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { type NeededProgram, pathOf } from '../support/needed-program.js';

export const CHROMIUM: NeededProgram = {
  name: 'chromium',
  install: 'Install it with: apt-get install chromium.',
};

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
/** Of steps in a page. Far beyond what they take on a busy machine. */
const LONGEST_MS = 30_000;
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** Whatever ends what a test began. */
interface Cleanup {
  after(task: () => unknown): void;
}

export async function startBrowser(t: Cleanup): Promise<Browser> {
  // Where it writes what it keeps for itself goes with it.
  const folder = mkdtempSync(join(tmpdir(), 'keyturn-chromium-'));
  const browser = await chromium.launch({
    executablePath: pathOf(CHROMIUM),
    headless: true,
    args: FLAGS,
    env: { ...process.env, HOME: folder, XDG_CONFIG_HOME: folder, XDG_CACHE_HOME: folder },
  });
  t.after(async () => {
    await browser.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  });
  return browser;
}

export interface Tab {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What the page complained of so far. */
  readonly complaints: string[];
}

const TELLS_BREACHES = `document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) => {
  console.error('breach of the policy: ' + violatedDirective + ' ' + blockedURI + ' ' + sample);
});`;

/**
 * @param expected complaints that the test causes, as what a browser says of a server that is away
 * @param script of the page, before its own
 */
export async function openTab(
  t: Cleanup,
  browser: Browser,
  address: string,
  options: BrowserContextOptions & { readonly expected?: RegExp; readonly script?: string } = {},
): Promise<Tab> {
  const { expected, script: _, ...contextOptions } = options;
  const context = await browser.newContext({ locale: 'en-GB', ...contextOptions });
  const page = await context.newPage();
  page.setDefaultTimeout(LONGEST_MS);
  const complaints: string[] = [];
  listen(page, (text) => {
    if (expected?.test(text) !== true) complaints.push(text);
  });
  await page.addInitScript({ content: `${TELLS_BREACHES}${options.script ?? ''}` });
  t.after(async () => {
    await context.close();
    deepStrictEqual(complaints, []);
  });
  await page.goto(address);
  return { page, context, complaints };
}

const VIEWPORT = { width: 1_280, height: 720 };

/** One tab for many tests, each of which loads its page anew. A tab of its own costs a browser three times as much as a load. */
export class SharedTab {
  readonly #complaints: string[] = [];
  #expected: RegExp | undefined;

  private constructor(private readonly page: Page) {}

  static async open(t: Cleanup, browser: Browser): Promise<SharedTab> {
    const context = await browser.newContext({ locale: 'en-GB', viewport: VIEWPORT });
    t.after(() => context.close());
    const page = await context.newPage();
    page.setDefaultTimeout(LONGEST_MS);
    await page.addInitScript({ content: TELLS_BREACHES });
    const tab = new SharedTab(page);
    listen(page, (text) => {
      if (tab.#expected?.test(text) !== true) tab.#complaints.push(text);
    });
    // What the page before says while it goes belongs to no test.
    page.on('framenavigated', (frame) => {
      if (frame === page.mainFrame()) tab.#complaints.length = 0;
    });
    return tab;
  }

  /** For a test that says itself what is loaded. @param expected complaints that the test causes */
  take(t: Cleanup, expected?: RegExp): Page {
    this.#expected = expected;
    t.after(async () => {
      await this.page.unrouteAll({ behavior: 'ignoreErrors' });
      deepStrictEqual(this.#complaints.splice(0), []);
    });
    return this.page;
  }

  async load(t: Cleanup, address: string, expected?: RegExp): Promise<Page> {
    const page = this.take(t, expected);
    await page.setViewportSize(VIEWPORT);
    await page.emulateMedia({ colorScheme: null, reducedMotion: null, forcedColors: null });
    await page.goto(address);
    return page;
  }
}

function listen(page: Page, take: (text: string) => void): void {
  page.on('pageerror', (error) => take(`threw: ${error.message}`));
  page.on('console', (line) => {
    if (line.type() === 'error' || line.type() === 'warning') take(`${line.type()}: ${line.text()}`);
  });
}

/** What axe-core finds that is serious or worse, each with where. The tool is no part of the page: its policy does not bind it. */
export async function seriousFindings(page: Page): Promise<readonly string[]> {
  const session = await page.context().newCDPSession(page);
  const { result: known } = await session.send('Runtime.evaluate', { expression: 'typeof axe' });
  if (known.value !== 'object') await session.send('Runtime.evaluate', { expression: readFileSync(AXE, 'utf8') });
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
    expression: `axe.run(document, { resultTypes: ['violations'] }).then(({ violations, passes }) => JSON.stringify({
      found: violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ': ' + html.slice(0, 200) + ' ' + failureSummary)),
      passed: passes.length }))`,
    awaitPromise: true,
    returnByValue: true,
  });
  await session.detach();
  if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text);
  const told: unknown = JSON.parse(String(result.value));
  if (typeof told !== 'object' || told === null || !('found' in told) || !Array.isArray(told.found))
    throw new Error('axe-core told nothing');
  if (!('passed' in told) || told.passed === 0) throw new Error('axe-core looked at nothing');
  return told.found.map(String);
}
