/** The console in a real Chromium, on a real sidecar: finding out, doing something about it, and what goes wrong meanwhile. */
import { deepStrictEqual, match, strictEqual } from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { connect } from '@keyturn/client';
import type { Browser, Locator, Page, Request } from 'playwright-core';
import { hashOf } from '../../src/access/tokens.js';
import { ServeProcess } from '../cli/serve-process.js';
import { yamlFile } from '../config/yaml-file.js';
import { backwards } from '../support/backwards.js';
import { freePort } from '../support/free-port.js';
import { needs } from '../support/needed-program.js';
import { SidecarHere } from '../support/sidecar-here.js';
import { until } from '../support/until.js';
import { CHROMIUM, openTab, SharedTab, seriousFindings, startBrowser } from './browser.js';
import { HOSTILE, pageOf, type Scene, startScene } from './scene.js';

const QUEUES = 9_980;
const AN_HOUR = 3_600_000;
/** Items of one turn. */
const MOST_AT_ONCE = 100;
const PAGES = {
  overview: '/',
  queue: '/queue?name=hostile',
  key: '/key?queue=payments&key=customer-7',
  'dead letters of all': '/dead-letters',
  'dead letters': '/dead-letters?queue=orders',
  leaders: '/leaders?group=billing',
  cluster: '/cluster',
  server: '/server',
  item: '/item?queue=imports&id=import-monday',
  workers: '/workers',
  events: '/events',
} as const;

/** A sidecar that stands alone refuses the question for its cluster; browsers call that an error. */
const STANDS_ALONE = /status of 400/;

describe('the console', needs([CHROMIUM]), () => {
  const cleanup: (() => unknown)[] = [];
  const suite = { after: (task: () => unknown) => void cleanup.unshift(task) };
  let browser: Browser;
  let tab: SharedTab;
  let scene: Scene;
  before(async () => {
    [browser, scene] = await Promise.all([startBrowser(suite), startScene(suite, QUEUES)]);
    tab = await SharedTab.open(suite, browser);
  });
  after(async () => {
    for (const task of cleanup) await task();
  });

  function open(t: TestContext, path = '/', expected?: RegExp): Promise<Page> {
    return tab.load(t, scene.page + path, expected);
  }
  function openKey(t: TestContext, queue: string, key: string): Promise<Page> {
    return open(t, `/key?${new URLSearchParams({ queue, key })}`);
  }
  /** Leaves a dead letter. */
  async function dead(queue: string, key: string, error = 'broken'): Promise<void> {
    const { client } = scene;
    await client.submit(queue, { key, payload: Buffer.from('x') });
    const { deliveries } = await client.acquire({ queues: [queue], wait: 10_000 });
    for (const { turn } of deliveries)
      await client.nack({ queue, key: turn.key, token: turn.token, kind: 'dead_letter', error });
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

  it('opens what is pasted and entered before it is found', async (t) => {
    const page = await open(t);
    await page.keyboard.press('/');
    await page.keyboard.insertText('invoices ada');
    await page.keyboard.press('Enter');
    await why(page).filter({ hasText: 'Parked' }).waitFor();
  });

  it('lists the queues with dead letters, however many others are in worse trouble', async (t) => {
    const { admin } = scene.client;
    const paused = Array.from({ length: 60 }, (_, at) => `shop-0${9_000 + at}`);
    await dead('few', 'k');
    await Promise.all(paused.map((queue) => admin.pauseQueue(queue)));
    t.after(() => Promise.all(paused.map((queue) => admin.resumeQueue(queue))));
    const page = await open(t, '/dead-letters');
    await page.getByRole('table', { name: 'Queues with dead letters' }).getByRole('link', { name: 'few' }).waitFor();
  });

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

  it('shows how much happens in a queue, and how long the oldest waits, as lines, numbers and a table', async (t) => {
    const { client } = scene;
    await client.submit('ticking', { key: 'first' });
    const page = await open(t, '/queue?name=ticking');
    const of = (what: string): Locator => page.locator('dl.facts > div', { hasText: what }).locator('dd').last();
    await of('Oldest waits').filter({ hasText: /\d/ }).waitFor();
    const line = of('Events a second').locator('polyline');
    await line.waitFor({ state: 'attached' });
    // A line that rises: something happened between two samples.
    for (
      let more = 0;
      (await line.getAttribute('points'))?.split(' ').every((point) => point.endsWith(',20.0'));
      more++
    ) {
      await client.submit('ticking', { key: `k${more}` });
      await page.waitForTimeout(50);
    }
    // By the keyboard: the list above still grows, and a click whose target moves between its two halves does nothing.
    await page.getByText('Show the chart and its table').press('Enter');
    const table = page.getByRole('table', { name: 'The newest numbers of the chart' });
    await table.getByRole('columnheader', { name: 'Events a second' }).waitFor();
    deepStrictEqual(await seriousFindings(page), []);
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
        name: 'Redrive 1',
        path: '/dead-letters?queue=mended',
        before: () => dead('mended', 'k'),
        says: /Puts the 1 dead letter of this group back/,
        did: /1 dead letter went back/,
      },
      {
        name: 'Discard 1',
        path: '/dead-letters?queue=refunds',
        before: () => dead('refunds', 'k'),
        says: /Removes the 1 dead letter of this group for good/,
        did: /1 dead letter is gone/,
      },
      {
        name: 'Redrive all',
        path: '/dead-letters?queue=refunds',
        before: () => Promise.all([dead('refunds', 'a'), dead('refunds', 'b')]),
        says: /Puts 2 dead letters of queue refunds back/,
        did: /2 dead letters went back/,
      },
      {
        name: 'Discard all',
        path: '/dead-letters?queue=returns&key=k',
        before: () => Promise.all([dead('returns', 'k'), dead('returns', 'other')]),
        says: /Removes 1 dead letter of this key for good/,
        did: /1 dead letter is gone/,
      },
      {
        name: 'Ask to hand over',
        path: '/leaders?group=billing',
        says: /Asks host-1 to finish what is in hand/,
        did: /host-1 was asked to hand over/,
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
    const ASKS = /keyturn\.v1\.\w+\/(Explain|List|Get)/;
    const TWO_FRAMES = 'new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)))';
    for (const { name, path, before: prepare, says, did } of ACTS) {
      it(`${name}, with the keyboard alone`, async (t) => {
        await prepare?.();
        const page = await open(t, path);
        const button = page.getByRole('button', { name: `${name}…` });
        await button.press('Enter');
        const dialog = page.getByRole('dialog');
        await dialog.getByText(says).waitFor();
        await page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'detached' });

        await button.press('Enter');
        await dialog.getByText(says).waitFor();
        await dialog.getByLabel(/^Reason/).fill(`because of ${name}`);
        deepStrictEqual(await seriousFindings(page), []);
        await dialog.getByRole('button', { name, exact: true }).press('Enter');
        await dialog.getByText(did).waitFor();
        // What it did stays to be read, also when the page has learnt that nothing is left to do it to.
        await (await page.waitForRequest(ASKS)).response();
        await page.evaluate(TWO_FRAMES);
        deepStrictEqual(await dialog.getByText(did).count(), 1);
        await page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'detached' });
      });
    }
  });

  it('takes what fits a filter: as many as it says, and no others', async (t) => {
    for (const [key, error] of [
      ['a', 'no route'],
      ['b', 'no route'],
      ['c', 'bad zip'],
    ] as const)
      await dead('sorted', key, error);
    const page = await open(t, '/dead-letters?queue=sorted');
    await page.getByRole('heading', { name: /2 × .*no route/ }).waitFor();
    await page.getByLabel('Last error contains').fill('bad');
    await page.getByRole('heading', { name: /no route/ }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Discard those that fit…' }).press('Enter');
    await page.getByText(/Removes 1 dead letter of queue sorted that fit the filter for good/).waitFor();
    await page.keyboard.press('Escape');
    await page.getByLabel('Last error contains').fill('');
    await page.getByLabel('Cause').selectOption('dependency');
    await page.getByText('None that fits.').waitFor();
    await page.getByLabel('Cause').selectOption('refused');
    await page.getByRole('button', { name: 'Redrive those that fit…' }).press('Enter');
    await page.getByText(/Puts 3 dead letters of queue sorted that fit the filter back/).waitFor();
  });

  it('does what is done to many in steps: shows how far it is, and calls off the rest', async (t) => {
    const many = 4_500;
    const items = Array.from({ length: MOST_AT_ONCE }, () => ({ key: 'k' }));
    for (let left = many; left > 0; left -= MOST_AT_ONCE) {
      await scene.client.submit({ queue: 'many', items });
      const { deliveries } = await scene.client.acquire({ queues: ['many'], maxItemsPerTurn: MOST_AT_ONCE });
      for (const { turn } of deliveries) await scene.client.nack({ ...turn, kind: 'dead_letter', error: 'bad' });
    }
    const page = await open(t, '/dead-letters?queue=many');
    // The second step waits until it was called off.
    let steps = 0;
    const release = new Promise<void>((resolve) => {
      void page.route('**/keyturn.v1.AdminService/Discard', async (route) => {
        const isStep = !(route.request().postData() ?? '').includes('dryRun');
        if (isStep && ++steps === 2) await page.getByRole('button', { name: 'Stops after this step…' }).waitFor();
        await route.continue();
        if (isStep) resolve();
      });
    });
    await page.getByRole('button', { name: 'Discard all…' }).press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByText(/Removes 4,500 dead letters of queue many/).waitFor();
    await dialog.getByRole('button', { name: 'Discard all', exact: true }).press('Enter');
    await release;
    await dialog.getByText('2,000 of 4,500').waitFor();
    await dialog.getByRole('button', { name: 'Call off the rest' }).press('Enter');
    await dialog.getByText('Called off: 4,000 dead letters are gone, 500 are left.').waitFor();
    deepStrictEqual(steps, 2);
  });

  it('says that the sidecar is away, keeps what it showed, and comes back by itself', async (t) => {
    const port = await freePort();
    const listen = ['--console-listen', `127.0.0.1:${port}`];
    const sidecar = await ServeProcess.start(t, listen);
    const client = connect(await sidecar.address('grpc'), { consumerId: 'worker-away' });
    t.after(() => client.close());
    await client.enQueue({ queue: 'q', key: 'k' });
    const expected = /Failed to load resource|net::ERR/;
    const { page } = await openTab(t, browser, `http://127.0.0.1:${port}/key?queue=q&key=k`, { expected });
    await why(page).getByText('worker-away holds it').waitFor();
    sidecar.signal('SIGKILL');
    await page.getByText('The sidecar is away since').waitFor();
    match((await why(page).textContent()) ?? '', /worker-away holds it/);
    client.close();
    await sidecar.exited;
    await SidecarHere.start(t, listen);
    await page.getByText('The sidecar is away since').waitFor({ state: 'detached' });
    await page.locator('[data-stream=open]').waitFor();
    await why(page).getByText('Nothing is wrong').waitFor();
  });

  it('has one stream of events, closed while the tab is hidden, when nothing else is asked either', async (t) => {
    const { page } = await openTab(t, browser, 'about:blank');
    let streams = 0;
    let asked = 0;
    const count = (change: number) => (request: Request) => {
      if (request.url().endsWith('WatchEvents')) streams += change;
      else if (change > 0) asked += 1;
    };
    page.on('request', count(1));
    page.on('requestfailed', count(-1));
    page.on('requestfinished', count(-1));
    await page.goto(scene.page + PAGES.key);
    await page.locator('[data-stream=open]').waitFor();
    strictEqual(streams, 1);
    const show = (state: string): Promise<unknown> =>
      page.evaluate(`Object.defineProperty(document, 'visibilityState', { configurable: true, value: '${state}' });
        document.dispatchEvent(new Event('visibilitychange'));`);
    await show('hidden');
    await until(() => streams === 0);
    const before = asked;
    // Longer than the pause between two questions.
    await page.waitForTimeout(3_000);
    strictEqual(asked, before);
    await show('visible');
    await until(() => streams === 1 && asked > before + 1);
  });

  it('asks for a token where the sidecar does, and says what its rights do not allow', async (t) => {
    const secrets = ['ops', 'looker'].map((name) => `${name}: { sha256: '${hashOf(`secret-${name}`)}' }\n`);
    const settings = `
auth:
  tokens: ${yamlFile(t, secrets.join(''))}
  rights:
    ops: [{ queues: ['*'], groups: ['*'], may: [view, payload, operate] }]
    looker: [{ queues: ['*'], may: [view] }]
queues: { orders: {} }
`;
    const cleanup = backwards(t);
    const config = yamlFile(cleanup, settings);
    const sidecar = await SidecarHere.start(cleanup, ['--config', config, '--console-listen', '127.0.0.1:0']);
    const { page } = await openTab(cleanup, browser, await pageOf(sidecar), { expected: /status of 40[13]/ });
    const enter = async (token: string): Promise<void> => {
      await page.getByLabel('Your token').fill(token);
      await page.getByLabel('Your token').press('Enter');
    };
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    deepStrictEqual(await seriousFindings(page), []);
    await enter('no-such-token');
    await page.getByRole('main').getByRole('alert').getByText(/\w/).waitFor();
    await enter('secret-looker');
    await page.getByRole('table', { name: 'Queues by name' }).getByRole('link', { name: 'orders' }).click();
    await page.getByRole('button', { name: 'Pause queue…' }).press('Enter');
    await page.getByRole('button', { name: 'Pause queue', exact: true }).press('Enter');
    await page
      .getByRole('dialog')
      .getByRole('alert')
      .getByText(/operate/)
      .waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Log out looker' }).click();
    await enter('secret-ops');
    await page.getByRole('button', { name: 'Log out ops' }).waitFor();
    await page.getByRole('button', { name: 'Pause queue…' }).press('Enter');
    await page.getByRole('button', { name: 'Pause queue', exact: true }).press('Enter');
    await page.getByText('Queue orders is paused.').first().waitFor();
  });

  it('shows ages by the clock of the sidecar, when that of the browser is off', async (t) => {
    const script = `{ const real = Date.now; Date.now = () => real() - ${3 * AN_HOUR}; }`;
    const { page } = await openTab(t, browser, `${scene.page}${PAGES.key}`, { script });
    await page.getByText(/The clock of this browser is \d h.* behind/).waitFor();
    match((await page.locator('.why .facts').textContent()) ?? '', /Since\d+ (min|s)/);
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
      await page.goto(`${scene.page}/queue?name=hostile`);
      await list.getByRole('link').nth(Object.values(HOSTILE).indexOf(key)).click();
      await why(page).getByText('No worker has acquired it yet').waitFor();
    }
  });

  it('groups dead letters by why they died, and shows payloads by their kind, none of them run', async (t) => {
    const page = await open(t, PAGES['dead letters']);
    await page.getByRole('heading', { name: '5 × refused: line # is too long' }).waitFor();
    await page.getByRole('heading', { name: '1 × refused: no such customer' }).waitFor();
    const shows = async (key: string, what: RegExp): Promise<void> => {
      const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: key, exact: true }) });
      await row.getByText(/^payload, /).click();
      await row.getByText(what).first().waitFor();
    };
    await shows('json', /"name": "Zoë"/);
    await shows('text', /^plain$/);
    await shows('protobuf', /08 96 01 12 02 00 ff/);
    await shows('svg', /onload=/);
    await shows('markup', /<script>/);
    await shows('picture', /A picture/);
    const picture = page.getByAltText('What is in the payload');
    match((await picture.getAttribute('src')) ?? '', /^blob:/);
    await page.waitForFunction('document.images[0].naturalWidth === 1');
    match(await page.title(), /Dead letters of orders/);
  });

  it('shows events as they happen, of one queue or all, holds them, and counts those that were missed', async (t) => {
    const { client } = scene;
    const page = await open(t, PAGES.events);
    await page.locator('[data-stream=open]').waitFor();
    const list = page.getByRole('table', { name: 'Events, newest first' });
    await client.submit('shown', { key: 'first', payload: Buffer.from('x') });
    await list.getByRole('link', { name: 'first' }).waitFor();
    await page.getByText(/\b0 missed/).waitFor();
    await page.getByRole('button', { name: 'Hold' }).click();
    await page.locator('[data-stream=closed]').waitFor();
    await client.submit('shown', { key: 'held', payload: Buffer.from('x') });
    await page.getByLabel('Only queue').fill('shown');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.locator('[data-stream=open]').waitFor();
    await client.submit('elsewhere', { key: 'other', payload: Buffer.from('x') });
    await client.submit('shown', { key: 'second', payload: Buffer.from('x') });
    await list.getByRole('link', { name: 'second' }).waitFor();
    strictEqual(await list.getByRole('link', { name: 'other' }).count(), 0);
    strictEqual(await list.getByRole('link', { name: 'held' }).count(), 0);
  });

  it('counts the events that a slow reader missed', async (t) => {
    const page = tab.take(t);
    const message = Buffer.from('{"events":[{"kind":"EVENT_KIND_ARRIVAL","queue":"q","key":"k"}],"missed":"1234"}');
    const head = Buffer.from([0, 0, 0, 0, message.length]);
    const headers = { 'content-type': 'application/connect+json' };
    const body = Buffer.concat([head, message, Buffer.from([2, 0, 0, 0, 2]), Buffer.from('{}')]);
    await page.route('**/WatchEvents', (route) => route.fulfill({ headers, body }));
    await page.goto(scene.page + PAGES.events);
    await page.getByText(/[1-9] events?, [1-9],\d{3} missed/).waitFor();
  });

  it('finds an item by its id, and shows what it carries when asked to', async (t) => {
    const page = await open(t);
    const payload = Buffer.from('{"file": "a.csv"}');
    const headers = { traceparent: `00-${'7'.repeat(32)}-${'7'.repeat(16)}-01` };
    await scene.client.submit('looked-for', { key: 'k', itemId: 'needle', payload, headers });
    await page.keyboard.press('/');
    await page.keyboard.type('looked-for needle');
    await page.locator('[role=option][aria-selected=true]', { hasText: 'needle' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Item needle' }).waitFor();
    await why(page).getByText('It waits in the line of its key.').waitFor();
    await page.getByText('7'.repeat(32)).first().waitFor();
    strictEqual(await page.getByText('a.csv').count(), 0, 'hidden until asked for');
    await page.getByRole('button', { name: 'Show it' }).press('Enter');
    await page.getByText('payload, 17 bytes').click();
    await page.getByText('a.csv').waitFor();
    await page.getByRole('link', { name: 'k', exact: true }).click();
    await page.getByRole('link', { name: 'needle' }).waitFor();
    await page.goto(`${scene.page}/item?queue=looked-for&id=nothing`);
    await why(page).getByText('Nothing is known of this id').waitFor();
  });

  it('shows what an item waits for as a tree, branch by branch, down to the one that keeps all of them', async (t) => {
    const { client } = scene;
    const chain = ['root', 'trunk', 'branch', 'leaf'];
    for (const [at, itemId] of chain.entries()) {
      const before = chain[at - 1];
      await client.submit('forest', {
        key: itemId,
        itemId,
        ...(before && { after: [{ queue: 'forest', itemId: before }] }),
      });
    }
    const page = await open(t, `/item?${new URLSearchParams({ queue: 'forest', id: 'leaf' })}`);
    const tree = page.getByRole('region', { name: 'How it stands' });
    await tree.getByRole('link', { name: 'branch' }).waitFor();
    for (const [at, next] of ['trunk', 'root'].entries()) {
      await tree.getByText('waits for 1 other item', { exact: true }).nth(at).click();
      await tree.getByRole('link', { name: next }).waitFor();
    }
    deepStrictEqual(await seriousFindings(page), []);
    await tree.getByRole('link', { name: 'root' }).press('Enter');
    await page.getByRole('heading', { name: /Item root/ }).waitFor();
  });

  it('shows who is connected, whose connection is broken, and what they hold', async (t) => {
    const page = await open(t, '/workers');
    const row = page.getByRole('row').filter({ hasText: 'thumbnails' });
    await row.getByText('broken').waitFor();
    await row.getByRole('link', { name: 'photo-17' }).waitFor();
    await page.getByLabel('Id contains').fill('dead');
    await page.getByRole('row').nth(2).waitFor({ state: 'detached' });
    await page.getByLabel('Id contains').fill('nobody is called so');
    await page.getByText('No session.').waitFor();
  });

  it('tells of the sidecar: what runs, who one is there, and which settings differ', async (t) => {
    const page = await open(t, '/server');
    await page.getByText(/Node v\d+/).waitFor();
    await page.getByText('not asked who you are').waitFor();
    await page.getByRole('cell', { name: 'payload bytes' }).waitFor();
    await page.getByText(/console_listen/).waitFor();
  });

  it('says who leads a group, and that this sidecar is in no cluster', async (t) => {
    const page = await open(t, '/leaders', STANDS_ALONE);
    await page.getByLabel('Group').fill('billing');
    await page.keyboard.press('Enter');
    await page.getByText('host-1 leads: it works.').waitFor();
    await page.getByText('version: 7').waitFor();
    await page.getByRole('link', { name: 'Cluster' }).click();
    await page.getByText('This sidecar stands alone').waitFor();
  });

  it('shows a cluster: who decides about which partition, and what is not there', async (t) => {
    const page = tab.take(t);
    const members = [{ id: 'a1b2c3d4e5', name: 'pod-1', state: 'live', version: '0.1.0', weight: 1, partitions: 1 }];
    const homes = [
      { member: 'a1b2c3d4e5', state: 'open', queues: 3 },
      { partition: 1, state: 'none' },
    ];
    const unavailable = [{ partition: 1, why: 'nobody has it' }];
    const json = { name: 'shop', partitions: 2, members, homes, unavailable, format: 3 };
    await page.route('**/GetCluster', (route) => route.fulfill({ json }));
    await page.goto(scene.page + PAGES.cluster);
    await page.getByText('1 of 2 partitions take no calls now.').waitFor();
    await page.getByText('Partition 1: nobody has it').waitFor();
    await page.route('**/MovePartition', (route) =>
      route.fulfill({ json: { state: 'moved', name: 'pod-1', paused: '0.120s' } }),
    );
    await page.getByRole('button', { name: 'Move a partition…' }).click();
    await page.getByRole('dialog').getByLabel('Partition, 0 to 1').fill('1');
    await page.getByRole('button', { name: 'Move a partition', exact: true }).click();
    await page.getByText('Partition 1: moved, home pod-1. Nobody decided about it for 120 ms.').first().waitFor();
    deepStrictEqual(await seriousFindings(page), []);
  });

  it('an error in one part leaves the others', async (t) => {
    const page = tab.take(t, /Failed to load resource/);
    await page.route('**/ListKeys', (route) =>
      route.fulfill({ status: 500, json: { code: 'internal', message: 'this one broke' } }),
    );
    await page.route('**/WatchEvents', (route) => route.fulfill({ status: 200, body: 'nonsense' }));
    await page.goto(`${scene.page}${PAGES.queue}`);
    await page.getByRole('alert').getByText('this one broke').waitFor();
    await page.getByRole('heading', { name: 'Lanes by state' }).waitFor();
    await page.goto(`${scene.page}${PAGES.key}`);
    await why(page).waitFor();
  });

  for (const [name, path] of Object.entries(PAGES)) {
    it(`the page ${name}: axe-core finds nothing serious, light and dark; it fits 320 px; nothing moves for who wants that`, async (t) => {
      const page = await open(t, path, name === 'cluster' ? STANDS_ALONE : undefined);
      await page.locator('main :is(table, [role=table], .why, .note, .part)').first().waitFor();
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        deepStrictEqual(await seriousFindings(page), [], colorScheme);
      }
      await page.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' });
      await page.setViewportSize({ width: 320, height: 640 });
      strictEqual(await page.evaluate('document.documentElement.scrollWidth <= 320'), true);
      strictEqual(await page.evaluate('document.getAnimations().length'), 0);
    });
  }
});
