/** The console where it is not alone: two tabs, a large screen, a slow network, a cluster of which one member dies. */
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { connect } from '@keyturn/client';
import type { Browser, Page } from 'playwright-core';
import { hashOf } from '../../src/access/tokens.js';
import { ServeProcess } from '../cli/serve-process.js';
import { yamlFile } from '../config/yaml-file.js';
import { backwards } from '../support/backwards.js';
import { needs } from '../support/needed-program.js';
import { REDIS, TestRedis } from '../support/redis.js';
import { SidecarHere } from '../support/sidecar-here.js';
import { CHROMIUM, openTab, seriousFindings, startBrowser } from './browser.js';
import { pageOf } from './scene.js';

const CONSOLE = ['--console-listen', '127.0.0.1:0'];

describe('the console', needs([CHROMIUM]), () => {
  const cleanup: (() => unknown)[] = [];
  const suite = { after: (task: () => unknown) => void cleanup.unshift(task) };
  let browser: Browser;
  let sidecar: SidecarHere;
  let address: string;
  before(async () => {
    [browser, sidecar] = await Promise.all([
      startBrowser(suite),
      SidecarHere.start(suite, ['--config', yamlFile(suite, 'queues: { orders: {} }'), ...CONSOLE]),
    ]);
    address = await pageOf(sidecar);
    const client = connect(sidecar.address('grpc'), { consumerId: 'worker-1' });
    suite.after(() => client.close());
    await client.enQueue({ queue: 'orders', key: 'held', lease: 600_000 });
  });
  after(async () => {
    for (const task of cleanup) await task();
  });

  it('shows in one tab what is done in another', async (t) => {
    const { page: one, context } = await openTab(t, browser, `${address}/queue?name=orders`);
    const other = await context.newPage();
    await other.goto(`${address}/queue?name=orders`);
    await act(one, 'Pause queue');
    await other.getByRole('button', { name: 'Resume queue…' }).waitFor();
    await act(other, 'Resume queue');
    await one.keyboard.press('Escape');
    await one.getByRole('button', { name: 'Pause queue…' }).waitFor();
  });

  it('says in every tab that nobody is logged in any more', async (t) => {
    const tokens = yamlFile(t, `ops: { sha256: '${hashOf('secret-ops')}' }\n`);
    const rights = "{ ops: [{ queues: ['*'], groups: ['*'], may: [view, operate] }] }";
    const settings = `auth: { tokens: ${JSON.stringify(tokens)}, rights: ${rights} }\n`;
    const cleanup = backwards(t);
    const own = await SidecarHere.start(cleanup, ['--config', yamlFile(cleanup, settings), ...CONSOLE]);
    const { page: one, context } = await openTab(cleanup, browser, await pageOf(own), { expected: /status of 401/ });
    await one.getByLabel('Your token').fill('secret-ops');
    await one.getByLabel('Your token').press('Enter');
    await one.getByRole('button', { name: 'Log out ops' }).waitFor();
    const other = await context.newPage();
    await other.goto(await pageOf(own));
    await other.getByRole('button', { name: 'Log out ops' }).waitFor();
    await one.getByRole('button', { name: 'Log out ops' }).click();
    await other.getByRole('heading', { name: 'Log in' }).waitFor();
  });

  it('uses a screen of 4K: nothing lies across, and lines stay short enough to read', async (t) => {
    const viewport = { width: 3_840, height: 2_160 };
    const { page } = await openTab(t, browser, `${address}/key?queue=orders&key=held`, { viewport });
    await page.locator('.why-sentence').getByText('holds it').waitFor();
    const widths = await page.evaluate(
      '[document.documentElement.scrollWidth, document.querySelector(".why-sentence").getBoundingClientRect().width]',
    );
    ok(Array.isArray(widths));
    strictEqual(widths[0], viewport.width);
    ok(widths[1] < viewport.width / 2, `a line of ${widths[1]} px`);
    deepStrictEqual(await seriousFindings(page), []);
  });

  it('tells why a key does not move over a slow network too, and does not call the sidecar away', async (t) => {
    const { page, context } = await openTab(t, browser, 'about:blank');
    const network = await context.newCDPSession(page);
    await network.send('Network.enable');
    // 1.5 s there and back, 50 kB a second.
    await network.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 1_500,
      downloadThroughput: 50_000,
      uploadThroughput: 50_000,
    });
    await page.goto(address);
    await page.keyboard.press('/');
    await page.getByRole('combobox').fill('orders held');
    await page.locator('[role=option][aria-selected=true]').waitFor();
    await page.keyboard.press('Enter');
    await page.locator('.why-sentence').getByText('holds it').waitFor();
    strictEqual(await page.getByText('is away').count(), 0);
  });

  it(
    'shows at any member what others decide about, and says what is missing when one dies',
    needs([REDIS]),
    async (t) => {
      const cleanup = backwards(t);
      const redis = await TestRedis.start(cleanup);
      const settings = ['--store', redis.url, '--cluster-partitions', '4', '--cluster-session', '30s'];
      // A process of its own: it dies.
      const first = await ServeProcess.start(cleanup, settings);
      await first.logged('joined the cluster');
      const client = connect(await first.address('grpc'), { consumerId: 'worker-1' });
      cleanup.after(() => client.close({ timeout: 0 }));
      const queues = ['a', 'b', 'c', 'd', 'e', 'f'];
      for (const queue of queues) await client.enQueue({ queue, key: 'held', lease: 600_000 });
      // It comes later: nothing is its own yet.
      const second = await SidecarHere.start(cleanup, [...settings, ...CONSOLE]);
      await second.logged('joined the cluster');
      const { page } = await openTab(cleanup, browser, await pageOf(second), { expected: /status of 50\d/ });
      for (const queue of queues) {
        await page
          .getByRole('table', { name: 'Queues by name' })
          .getByRole('link', { name: queue, exact: true })
          .waitFor();
      }
      await page.goto(`${await pageOf(second)}/key?queue=c&key=held`);
      await page.locator('.why-sentence').getByText('worker-1 holds it').waitFor();
      await act(page, 'Evict holder');
      await page
        .getByText(/worker-1 was evicted/)
        .first()
        .waitFor();
      await page.goto(`${await pageOf(second)}/cluster`);
      await page.getByText('All 4 partitions have a home that takes calls.').waitFor();
      first.signal('SIGKILL');
      // It shows it by itself, and what is known stays.
      await page.getByText(/of 4 partitions take no calls now\./).waitFor();
      await page.goto(await pageOf(second));
      await page
        .getByText(/This is not all: .* could not be asked/)
        .first()
        .waitFor();
    },
  );
});

async function act(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: `${name}…` }).press('Enter');
  await page.getByRole('button', { name, exact: true }).press('Enter');
}
