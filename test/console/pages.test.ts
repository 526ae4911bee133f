/** The console in a real Chromium, on a real sidecar: finding out, doing something about it, and what goes wrong meanwhile. */
import { deepStrictEqual, match, strictEqual } from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { needs } from '../support/needed-program.js';
import { until } from '../support/until.js';
import { CHROMIUM, openTab, seriousFindings, startBrowser } from './browser.js';
import { type Gateway, startGateway } from './gateway.js';
import { HOSTILE, type Scene, startScene } from './scene.js';

const QUEUES = 9_980;
const AN_HOUR = 3_600_000;
const PAGES = {
  overview: '/',
  queue: '/queue?name=hostile',
  key: '/key?queue=payments&key=customer-7',
} as const;

describe('the console', needs([CHROMIUM]), () => {
  const cleanup: (() => unknown)[] = [];
  const suite = { after: (task: () => unknown) => void cleanup.unshift(task) };
  let browser: Browser;
  let scene: Scene;
  let gateway: Gateway;
  before(async () => {
    [browser, scene] = await Promise.all([startBrowser(suite), startScene(suite, QUEUES)]);
    gateway = await startGateway(scene.address);
    suite.after(() => gateway.stop());
  });
  after(async () => {
    for (const task of cleanup) await task();
  });

  async function open(t: TestContext, path = '/', options: BrowserContextOptions = {}): Promise<Page> {
    return (await openTab(t, browser, gateway.address + path, options)).page;
  }
  function openKey(t: TestContext, queue: string, key: string): Promise<Page> {
    return open(t, `/key?${new URLSearchParams({ queue, key })}`);
  }
  const why = (page: Page): Locator => page.locator('.why-sentence');

  /** From the start page, by what is typed; what is read then. */
  const FOUND: readonly (readonly [what: string, typed: string, sentence: RegExp, held: string, until: RegExp])[] = [
    [
      'held by a worker that does not end',
      'payments customer-7',
      /worker-slow holds it and its session ".*" renews it\./,
      'worker-slow',
      /no time/,
    ],
    ['parked', 'invoices ada', /Parked: item .* became a dead letter;/, 'nobody', /no time/],
    ['behind a rate', 'mails newsletter', /The rate of the queue allows no turn yet/i, 'nobody', /in \d+ min/],
    [
      'behind a dependency',
      'reports weekly',
      /The item at the head waits for others to be done: import-monday of queue imports\./,
      'nobody',
      /no time/,
    ],
    [
      'held by a dead worker',
      'thumbnails photo-17',
      /worker-dead holds it and its session "dead" is broken\./,
      'worker-dead',
      /no time|in \d+ min/,
    ],
  ];
  for (const [what, typed, sentence, held, ends] of FOUND) {
    it(`tells why a key is ${what}, among ten thousand queues: / ${typed} Enter`, async (t) => {
      const page = await open(t);
      await page.keyboard.press('/');
      await page.keyboard.type(typed);
      await page.locator('[role=option][aria-selected=true]', { hasText: typed.split(' ')[1] ?? '' }).waitFor();
      await page.keyboard.press('Enter');
      await why(page).waitFor();
      match((await why(page).textContent()) ?? '', sentence);
      const facts = (await page.locator('.why .facts').textContent()) ?? '';
      match(facts, new RegExp(`Held by\\s*${held}`));
      match(facts, ends);
    });
  }

  it('shows what is stuck on the start page, and why with one click', async (t) => {
    const page = await open(t);
    const row = page.getByRole('table', { name: 'Queues that are stuck' }).getByRole('row', { name: /invoices/ });
    match((await row.textContent()) ?? '', /keys? parked/);
    await row.getByRole('link', { name: 'ada' }).click();
    match((await why(page).textContent()) ?? '', /Parked/);
    await page.goBack();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });

  it('pages and filters queues by the sidecar, not in the browser', async (t) => {
    const page = await open(t);
    const queues = page.getByRole('table', { name: 'Queues by name' });
    await queues.getByRole('link', { name: 'hostile' }).waitFor();
    await page.getByRole('button', { name: 'After' }).click();
    await queues.getByRole('link', { name: 'shop-00050' }).waitFor();
    await page.getByLabel('Name contains').fill('shop-0997');
    await queues.getByRole('link', { name: 'shop-09975' }).waitFor();
    strictEqual(await queues.getByRole('row').count(), 11);
    await page.reload();
    strictEqual(await page.getByLabel('Name contains').inputValue(), 'shop-0997');
  });

  it('shows the lanes of a queue by state, as a picture and as a table, and the keys of one state', async (t) => {
    const page = await open(t, '/queue?name=invoices');
    match(
      (await page.getByRole('img', { name: /keys? with something to do/ }).getAttribute('aria-label')) ?? '',
      /PARK/,
    );
    await page.getByRole('button', { name: 'Show keys in PARK' }).click();
    await page.getByRole('heading', { name: 'Keys in PARK' }).waitFor();
    await page
      .getByRole('table', { name: /Keys, longest/ })
      .getByRole('link', { name: 'ada' })
      .waitFor();
    match(page.url(), /state=PARK/);
    await page.getByText('Show the chart and its table').click();
    await page.locator('.chart canvas').waitFor();
    await page.getByRole('table', { name: 'The newest numbers of the chart' }).waitFor();
  });

  it('shows a key that moves without being asked', async (t) => {
    const { client } = scene;
    const page = await openKey(t, 'live', 'k');
    await page.getByText('Nothing is wrong').waitFor();
    await page.locator('[data-stream=open]').waitFor();
    const answer = await client.enQueue({ queue: 'live', key: 'k', consumerId: 'worker-live' });
    await why(page).getByText('worker-live holds it').waitFor();
    await page.getByRole('table', { name: 'What happened' }).getByText('turn began').waitFor();
    if (answer.decision === 'accept') await client.deQueue({ queue: 'live', key: 'k', token: answer.turn.token });
    await page.getByText('Nothing is wrong').waitFor();
  });

  describe('an act says what it will do, asks once, and shows what it did', () => {
    interface Act {
      readonly name: string;
      readonly path: string;
      readonly before?: () => Promise<unknown>;
      readonly says: RegExp;
      readonly did: RegExp;
    }
    const key = (queue: string, name: string): string => `/key?${new URLSearchParams({ queue, key: name })}`;
    const ACTS: readonly Act[] = [
      {
        name: 'Pause queue',
        path: '/queue?name=shop-00001',
        says: /shop-00001 gives no turns until it is resumed: 0 entries/,
        did: /shop-00001 is paused/,
      },
      {
        name: 'Resume queue',
        path: '/queue?name=shop-00001',
        says: /shop-00001 gives turns again/,
        did: /shop-00001 goes on/,
      },
      {
        name: 'Change limits',
        path: '/queue?name=mails',
        says: /Changes what queue mails is limited to/,
        did: /Queue mails has 0.001 turns a second, burst 1, and any number of live turns/,
      },
      {
        name: 'Resume key',
        path: key('invoices', 'grace'),
        says: /grace goes on: 1 item in its line/,
        did: /Key grace goes on; it is READY now/,
      },
      {
        name: 'Retry now',
        path: key('later', 'k'),
        before: () => scene.client.submit('later', { key: 'k', delay: AN_HOUR }),
        says: /ends now: a back-off, a delay/,
        did: /delay ended for k; it is READY now/,
      },
      {
        name: 'Evict holder',
        path: key('payments', 'customer-8'),
        before: () => scene.client.enQueue({ queue: 'payments', key: 'customer-8', consumerId: 'worker-stuck' }),
        says: /Ends the turn that worker-stuck has of customer-8/,
        did: /worker-stuck was evicted .* Key customer-8 is INIT now/,
      },
    ];
    for (const { name, path, before: prepare, says, did } of ACTS) {
      it(`${name}, with the keyboard alone`, async (t) => {
        await prepare?.();
        const page = await open(t, path);
        const button = page.getByRole('button', { name: `${name}…` });
        await button.focus();
        await page.keyboard.press('Enter');
        const dialog = page.getByRole('dialog');
        await dialog.getByText(says).waitFor();
        await page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'detached' });
        deepStrictEqual(await seriousFindings(page), []);

        await button.focus();
        await page.keyboard.press('Enter');
        await dialog.getByText(says).waitFor();
        deepStrictEqual(await seriousFindings(page), []);
        await dialog.getByRole('button', { name, exact: true }).focus();
        await page.keyboard.press('Enter');
        await dialog.getByText(did).waitFor();
        await page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'detached' });
      });
    }
  });

  it('says that the sidecar is away, keeps what it showed, and comes back by itself', async (t) => {
    const own = await startGateway(scene.address);
    const { port } = new URL(own.address);
    const { page } = await openTab(t, browser, `${own.address}${PAGES.key}`, {
      expected: /Failed to load resource|net::ERR/,
    });
    await why(page).waitFor();
    await own.stop();
    await page.getByText('The sidecar is away since').waitFor();
    match((await why(page).textContent()) ?? '', /worker-slow holds it/);
    const again = await startGateway(scene.address, Number(port));
    t.after(() => again.stop());
    await page.getByText('The sidecar is away since').waitFor({ state: 'detached' });
    await page.locator('[data-stream=open]').waitFor();
    match((await why(page).textContent()) ?? '', /worker-slow holds it/);
  });

  it('has one stream of events, closed while the tab is hidden, when nothing else is asked either', async (t) => {
    const own = await startGateway(scene.address);
    const { page } = await openTab(t, browser, `${own.address}${PAGES.key}`);
    t.after(() => own.stop());
    await page.locator('[data-stream=open]').waitFor();
    strictEqual(own.streams(), 1);
    const show = (state: string): Promise<unknown> =>
      page.evaluate(`Object.defineProperty(document, 'visibilityState', { configurable: true, value: '${state}' });
        document.dispatchEvent(new Event('visibilitychange'));`);
    await show('hidden');
    await until(() => own.streams() === 0);
    const asked = own.calls.length;
    // Longer than the pause between two questions.
    await page.waitForTimeout(3_000);
    strictEqual(own.calls.length, asked);
    await show('visible');
    await until(() => own.streams() === 1);
    await until(() => own.calls.length > asked + 1);
  });

  it('shows ages by the clock of the sidecar, when that of the browser is off', async (t) => {
    const script = `{ const real = Date.now; Date.now = () => real() - ${3 * AN_HOUR}; }`;
    const { page } = await openTab(t, browser, `${gateway.address}${PAGES.key}`, { script });
    await page.getByText(/The clock of this browser is \d h.* behind/).waitFor();
    match((await page.locator('.why .facts').textContent()) ?? '', /Since([1-9]\d* min )?[1-9]\d* s/);
  });

  it('shows names that hide or turn something as what they are, and runs none of them', async (t) => {
    const page = await open(t, PAGES.queue);
    const list = page.getByRole('table', { name: /Keys, longest/ });
    await list.getByRole('link').first().waitFor();
    strictEqual(await list.getByRole('link').count(), Object.keys(HOSTILE).length);
    deepStrictEqual(await page.locator('.mark').allTextContents(), [
      'U+202E',
      'U+0000',
      'U+001B',
      'U+000A',
      '␣',
      '␣',
      '␣',
      'U+200B',
    ]);
    strictEqual(await page.locator('main img').count(), 0);
    for (const key of [HOSTILE.path, HOSTILE.override, HOSTILE.control]) {
      await page.goto(`${gateway.address}/queue?name=hostile`);
      await list.getByRole('link').nth(Object.values(HOSTILE).indexOf(key)).click();
      await why(page).getByText('No worker has acquired it yet').waitFor();
    }
  });

  it('an error in one part leaves the others', async (t) => {
    const { page } = await openTab(t, browser, 'about:blank', { expected: /Failed to load resource/ });
    await page.route('**/ListKeys', (route) =>
      route.fulfill({ status: 500, json: { code: 'internal', message: 'this one broke' } }),
    );
    await page.route('**/WatchEvents', (route) => route.fulfill({ status: 200, body: 'nonsense' }));
    await page.goto(`${gateway.address}${PAGES.queue}`);
    await page.getByRole('alert').getByText('this one broke').waitFor();
    await page.getByRole('heading', { name: 'Lanes by state' }).waitFor();
    await page.goto(`${gateway.address}${PAGES.key}`);
    await why(page).waitFor();
  });

  for (const [name, path] of Object.entries(PAGES)) {
    for (const colorScheme of ['light', 'dark'] as const) {
      it(`axe-core finds nothing serious on the page ${name}, ${colorScheme}`, async (t) => {
        const page = await open(t, path, { colorScheme });
        await page.locator('main table, main [role=table]').first().waitFor();
        deepStrictEqual(await seriousFindings(page), []);
      });
    }
    it(`the page ${name} fits 320 px, and has no motion for who wants none`, async (t) => {
      const page = await open(t, path, {
        viewport: { width: 320, height: 640 },
        reducedMotion: 'reduce',
        forcedColors: 'active',
      });
      await page.locator('main table, main [role=table]').first().waitFor();
      strictEqual(await page.evaluate('document.documentElement.scrollWidth <= 320'), true);
      strictEqual(await page.evaluate('document.getAnimations().length'), 0);
    });
  }
});
