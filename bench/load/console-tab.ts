/** What one tab of the console asks while somebody looks at a page: the same calls, as often, over one browser's connections. */
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { finished } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';

/** ms between an answer and the next question, as the pages have it. */
const EVERY_MS = 2_000;
const PAGES_AT_ONCE = 5;
const BETWEEN_PAGES_MS = 300;
const SERVICE = '/keyturn.v1.AdminService';

/** A page of the console, as far as the sidecar sees it. */
export type Page =
  /** The start page: looks once for what is stuck, then shows fifty of them again and again. */
  | { readonly is: 'overview' }
  /** Its lanes, its keys, and what happens in it. */
  | { readonly is: 'queue'; readonly queue: string }
  /** Why it does not move, and what happens to it. */
  | { readonly is: 'key'; readonly queue: string; readonly key: string }
  /** What happens anywhere. */
  | { readonly is: 'events' };

export class ConsoleTab {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #ending = new AbortController();
  readonly #running: Promise<void>[] = [];
  #stream: ClientRequest | undefined;

  constructor(private readonly url: string) {}

  open(page: Page): void {
    switch (page.is) {
      case 'overview':
        this.#asksAgain('ListQueues', { pageSize: 50, withoutPolicy: true });
        this.#running.push(this.#looksThroughAll());
        return;
      case 'queue':
        this.#asksAgain('ListQueues', { nameContains: page.queue, pageSize: 50 });
        this.#asksAgain('ListKeys', { queue: page.queue, pageSize: 500 });
        this.#watches({ queue: page.queue });
        return;
      case 'key':
        this.#asksAgain('ExplainKey', { queue: page.queue, key: page.key });
        this.#watches({ queue: page.queue, key: page.key });
        return;
      case 'events':
        this.#watches({});
    }
  }

  async close(): Promise<void> {
    this.#ending.abort();
    this.#stream?.destroy();
    await Promise.all(this.#running);
    this.#agent.destroy();
  }

  #asksAgain(method: string, asked: object): void {
    this.#running.push(this.#untilClosed(() => this.#ask(method, asked)));
  }

  async #untilClosed(ask: () => Promise<unknown>): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      await ask();
      await pause(EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  async #looksThroughAll(): Promise<void> {
    let pageToken = '';
    let pages = 0;
    do {
      const page = await this.#ask('ListQueues', { pageSize: 200, pageToken, stuckFor: '10s', withoutPolicy: true });
      pageToken =
        typeof page === 'object' && page !== null && 'nextPageToken' in page ? String(page.nextPageToken) : '';
      if (++pages >= PAGES_AT_ONCE)
        await pause(BETWEEN_PAGES_MS, undefined, { signal: this.#ending.signal }).catch(() => undefined);
    } while (pageToken !== '' && !this.#ending.signal.aborted);
  }

  async #ask(method: string, asked: object): Promise<unknown> {
    const answer = await this.#post(method, 'application/json', Buffer.from(JSON.stringify(asked)));
    const pieces: Buffer[] = [];
    for await (const piece of answer) pieces.push(piece);
    const body = Buffer.concat(pieces);
    if (answer.statusCode !== 200) throw new Error(`${method}: ${answer.statusCode} ${body.toString()}`);
    return JSON.parse(body.toString());
  }

  #watches(asked: object): void {
    const body = Buffer.from(JSON.stringify(asked));
    const head = Buffer.alloc(5);
    head.writeUInt32BE(body.length, 1);
    this.#running.push(
      this.#post('WatchEvents', 'application/connect+json', Buffer.concat([head, body]), (stream) => {
        this.#stream = stream;
      }).then(async (answer) => {
        if (answer.statusCode !== 200) throw new Error(`WatchEvents: ${answer.statusCode}`);
        try {
          await finished(answer.resume());
        } catch (error) {
          if (!this.#ending.signal.aborted) throw error;
        }
      }),
    );
  }

  #post(
    method: string,
    type: string,
    body: Buffer,
    opened: (request: ClientRequest) => void = () => undefined,
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': type, 'connect-protocol-version': '1', 'sec-fetch-site': 'same-origin' };
      const asking = request(new URL(`${SERVICE}/${method}`, this.url), {
        method: 'POST',
        headers,
        agent: this.#agent,
      });
      asking.on('response', resolve).on('error', reject).end(body);
      opened(asking);
    });
  }
}
