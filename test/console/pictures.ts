/** `npm run console:pictures`: writes the pictures of the console that the documents show, from a real sidecar in a real browser. */
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContextOptions } from 'playwright-core';
import { ROOT } from '../project/repository.js';
import { openTab, startBrowser } from './browser.js';
import { startScene } from './scene.js';

const FOLDER = join(ROOT, 'docs/console');
const LARGEST = 150_000;
const WIDE = { width: 1_180, height: 760 };
const PICTURES: readonly (readonly [name: string, path: string, options: BrowserContextOptions])[] = [
  ['overview-light', '/', { viewport: WIDE }],
  ['key-light', '/key?queue=thumbnails&key=photo-17', { viewport: WIDE }],
  ['key-dark', '/key?queue=thumbnails&key=photo-17', { viewport: WIDE, colorScheme: 'dark' }],
  ['queue-dark', '/queue?name=invoices', { viewport: WIDE, colorScheme: 'dark' }],
  ['key-narrow', '/key?queue=invoices&key=ada', { viewport: { width: 360, height: 760 } }],
];
/** By then it is stuck, for those who look at the start page. */
const STUCK_MS = 12_000;
const QUEUES = 40;

const cleanup: (() => unknown)[] = [];
const t = { after: (task: () => unknown) => void cleanup.unshift(task) };
try {
  const [browser, scene] = await Promise.all([startBrowser(t), startScene(t, QUEUES, [])]);
  mkdirSync(FOLDER, { recursive: true });
  await new Promise((resolve) => setTimeout(resolve, STUCK_MS));
  for (const [name, path, options] of PICTURES) {
    const { page } = await openTab(t, browser, scene.page + path, options);
    await page.locator('main :is(table, [role=table], .timeline)').first().waitFor();
    await page.getByText('Asking…').first().waitFor({ state: 'detached' });
    const file = join(FOLDER, `${name}.png`);
    await page.screenshot({ path: file });
    const { size } = statSync(file);
    if (size > LARGEST) throw new Error(`${name}.png has ${size} bytes; ${LARGEST} are allowed`);
    process.stdout.write(`${name}.png: ${size} bytes\n`);
  }
} finally {
  for (const task of cleanup) await task();
}
