/** S472: events for a tab: from when on, for how long, how many, and that nobody who is gone costs anything. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { describe, it } from 'node:test';
import { until } from '../../cli/keyturn-process.js';
import { type Console, consoleOf, FROM_PAGE, framed, headOf, rawConnection, submit, watchBytes } from './console.js';

const LAST = 2;

class Tab {
  readonly messages: { readonly flags: number; readonly value: Readonly<Record<string, unknown>> }[] = [];
  #rest = Buffer.alloc(0);
  hasEnded = false;

  constructor(readonly message: IncomingMessage) {
    message.on('data', (chunk: Buffer) => this.#take(chunk));
    message.once('close', () => {
      this.hasEnded = true;
    });
    message.on('error', () => {});
  }

  static async open({ open }: Console, wanted: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Tab> {
    const type = { 'content-type': 'application/connect+json' };
    const asked = { method: 'POST', headers: { ...type, ...FROM_PAGE, ...headers }, body: framed(wanted) };
    return new Tab(await open('/keyturn.v1.AdminService/WatchEvents', asked));
  }

  get events(): readonly unknown[] {
    return this.messages.flatMap(({ value }) => (Array.isArray(value['events']) ? value['events'] : []));
  }

  get last(): string {
    return JSON.stringify(this.messages.find(({ flags }) => flags === LAST)?.value);
  }

  #take(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= 5) {
      const length = this.#rest.readUInt32BE(1);
      if (this.#rest.length < 5 + length) return;
      const value: unknown = JSON.parse(this.#rest.subarray(5, 5 + length).toString());
      assert.ok(typeof value === 'object' && value !== null);
      this.messages.push({ flags: this.#rest[0] ?? 0, value: { ...value } });
      this.#rest = this.#rest.subarray(5 + length);
    }
  }
}

function pause({ coordinator }: Console, queue: string): Promise<unknown> {
  return coordinator.admin.ask('pauseQueue', { queue });
}

describe('events for a tab', () => {
  it('begin with a message that is empty: from then on nothing escapes it', async (t) => {
    const view = await consoleOf(t);
    const tab = await Tab.open(view, { queue: 'orders' });
    await until('it has begun', async () => tab.messages.length > 0);
    assert.deepEqual(tab.messages[0]?.value, {});
    await pause(view, 'orders');
    submit(view, 'orders', 'k');
    submit(view, 'others', 'k');
    await until('it is told', async () => tab.events.length > 0);
    assert.match(JSON.stringify(tab.events), /EVENT_KIND_ARRIVAL/);
    assert.doesNotMatch(JSON.stringify(tab.events), /others/);
  });

  it('end with the tab: then nobody watches', async (t) => {
    const view = await consoleOf(t);
    const tab = await Tab.open(view, {});
    await until('it has begun', async () => tab.messages.length > 0);
    tab.message.destroy();
    await until('another sixteen have room', async () => {
      const tabs = await Promise.all(Array.from({ length: 16 }, () => Tab.open(view, {})));
      await until('all are answered', async () => tabs.every(({ messages }) => messages.length > 0));
      const full = tabs.some(({ messages }) => messages[0]?.flags === LAST);
      for (const one of tabs) one.message.destroy();
      await Promise.all(tabs.map((one) => one.hasEnded || once(one.message, 'close')));
      return !full;
    });
  });

  it('are for sixteen tabs of one address at most', async (t) => {
    const view = await consoleOf(t);
    const tabs = [];
    for (let n = 0; n < 16; n += 1) {
      const tab = await Tab.open(view, {});
      await until('it has begun', async () => tab.messages.length > 0);
      tabs.push(tab);
    }
    const more = await Tab.open(view, {});
    await until('it is told', async () => more.last !== undefined);
    assert.match(more.last, /resource_exhausted.*16 tabs of 127\.0\.0\.1 watch events already/);
    for (const { message } of tabs) message.destroy();
  });

  it('are for sixteen tabs of one person at most, from wherever they come', async (t) => {
    const { port } = await consoleOf(t, { auth: true });
    const bytes = watchBytes({ authorization: 'Bearer secret-ops' });
    const answers = [];
    for (let n = 0; n < 20; n += 1) {
      const { socket, read, text } = await rawConnection(t, port, `127.0.0.${2 + (n % 4)}`);
      read();
      socket.write(bytes);
      await until('it is answered', async () => text().includes('\r\n\r\n') && text().includes('{'));
      answers.push(text());
    }
    const refused = answers.filter((text) => text.includes('16 tabs of ops watch events already'));
    assert.deepEqual([refused.length, answers.indexOf(refused[0] ?? '')], [4, 16]);
  });

  it('are not for those who may not see them, or not any more', async (t) => {
    const view = await consoleOf(t, { auth: true });
    const authorization = 'Bearer secret-ada';
    const all = await Tab.open(view, {}, { authorization });
    await until('it is refused', async () => all.last !== undefined);
    assert.match(all.last, /permission_denied/);
    const own = await Tab.open(view, { queue: 'ada.q' }, { authorization });
    await until('it has begun', async () => own.messages.length > 0);
    view.keep('ops');
    view.endRevoked();
    await until('it is told why', async () => own.last !== undefined);
    assert.match(own.last, /unauthenticated.*log in again/);
  });

  it('go on though strangers come in crowds, and each takes its time', async (t) => {
    const view = await consoleOf(t, { auth: true });
    const tab = await Tab.open(view, { queue: 'ada.q' }, { authorization: 'Bearer secret-ada' });
    await until('it has begun', async () => tab.messages.length > 0);
    for (let n = 0; n < 300; n += 1) {
      const { socket } = await rawConnection(t, view.port);
      // Each is being answered before the next one comes.
      socket.write(headOf('/login', 100, { expect: '100-continue' }));
      await once(socket, 'data');
    }
    submit(view, 'ada.q', 'k');
    await until('it is told, or cut off', async () => tab.events.length > 0 || tab.hasEnded);
    assert.equal(tab.hasEnded, false);
    tab.message.destroy();
  });

  it('end when the sidecar does', async (t) => {
    const view = await consoleOf(t);
    const tab = await Tab.open(view, {});
    await until('it has begun', async () => tab.messages.length > 0);
    view.coordinator.close();
    await until('it has ended', async () => tab.hasEnded);
    assert.equal(tab.last, '{}');
  });
});
