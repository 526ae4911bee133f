/** What happens in the load: each scene is a round that is played again and again, with a pause between two. */
import { DeadLetter, type ItemCall, type Keyturn, type Work } from '@keyturn/client';
import type { LoadQueue } from './settings.js';

export interface Stage {
  /** Its turns live as long as its session. */
  readonly session: Keyturn;
  /** Its turns live as long as their lease. */
  readonly unary: Keyturn;
  readonly signal: AbortSignal;
}

export interface Scene {
  readonly name: string;
  /** ms between the end of a round and the next. */
  readonly every: number;
  round(stage: Stage, round: number): Promise<unknown>;
}

const SHORT = { timeout: 2_000 };
/** ms. Long enough that callers of the same key meet. */
const WORK = 15;
const POISON = Buffer.from('never succeeds');

export const SCENES: readonly Scene[] = [
  {
    name: 'orders are submitted, some delayed, some after others',
    every: 50,
    async round({ session }, round) {
      const item = (n: number, more: Partial<ItemCall> = {}): ItemCall => ({
        key: `customer-${(round * 3 + n) % 40}`,
        itemId: `order-${process.pid}-${round}-${n}`,
        payload: Buffer.alloc(200, 'x'),
        ...more,
      });
      const after = [{ queue: queue('orders'), itemId: `order-${process.pid}-${round}-1` }];
      const second = round % 60 === 0 ? { payload: POISON } : round % 5 === 0 ? { delay: 700 } : {};
      const items = [item(0), item(1, second), item(2, round % 6 === 0 ? { after } : {})];
      await session.submit({ queue: queue('orders'), items }, SHORT);
    },
  },
  // A handler fails now and then, sometimes for good; one item never succeeds, and another waits for that one.
  consuming('orders are worked on', 'orders', (work) => {
    if (POISON.equals(work.item.payload) || chance(0.03)) throw new Error('the payment is not there yet');
    if (chance(0.005)) throw new DeadLetter('no such customer');
    return pass(work.signal);
  }),
  {
    name: 'dead letters are put back, or thrown away',
    every: 3_000,
    async round({ unary }, round) {
      const { deadLetters } = await unary.admin.listDeadLetters({ queue: queue('orders'), pageSize: 10 }, SHORT);
      // One stays, for those who look.
      const itemIds = deadLetters.slice(1).map(({ item }) => item.itemId);
      if (itemIds.length === 0) return;
      const choice = { queue: queue('orders'), itemIds };
      if (round % 2 === 0) await unary.admin.redrive(choice, SHORT);
      else await unary.admin.discard(choice, false, SHORT);
    },
  },
  leading('scheduler: worker 1'),
  leading('scheduler: worker 2'),
  ...callers('thumbnails: caller', 6, 'thumbnails', (round) => `photo-${round % 3}`),
  {
    name: 'prices: a newer one takes the place of the one that waits',
    every: 100,
    async round({ session }, round) {
      const items = [0, 1, 2].map((n) => ({ key: 'gold', itemId: `price-${process.pid}-${round}-${n}` }));
      await session.submit({ queue: queue('prices'), items }, SHORT);
    },
  },
  consuming('prices are taken', 'prices', ({ signal }) => pass(signal)),
  ...callers('prices: caller', 3, 'prices', () => 'silver'),
  {
    name: 'refunds: one is asked for again after it was done',
    every: 200,
    round: ({ session }, round) =>
      session.withTurn(
        queue('refunds'),
        'ada',
        { idempotencyKey: `refund-${process.pid}-${Math.floor(round / 2)}` },
        () => 0,
      ),
  },
  {
    name: 'pages come too soon, and a great many others once',
    every: 25,
    async round({ session }, round) {
      await session.withTurn(queue('pages'), round % 2 === 0 ? 'home' : `page-${process.pid}-${round}`, () => 0);
    },
  },
  {
    name: 'reports: who waits takes over from who holds',
    every: 500,
    async round({ unary }, round) {
      const key = `report-${round % 2}`;
      const first = await unary.enQueue({ queue: queue('reports'), key, wait: 0, lease: 5_000 }, SHORT);
      const second = await unary.enQueue({ queue: queue('reports'), key, wait: 150, lease: 5_000 }, SHORT);
      for (const answer of [first, second]) {
        if (answer.decision !== 'accept') continue;
        // The first one finds that its token is stale.
        await unary.deQueue({ queue: queue('reports'), key, token: answer.turn.token }, SHORT).catch(() => undefined);
      }
    },
  },
  {
    name: 'mails: more than the rate lets through, so that some are refused',
    every: 400,
    round: ({ unary }, round) =>
      unary.submit(
        { queue: queue('mails'), items: Array.from({ length: 12 }, (_, n) => ({ key: `to-${(round + n) % 30}` })) },
        SHORT,
      ),
  },
  consuming('mails are sent', 'mails', ({ signal }) => pass(signal)),
  {
    name: 'images: a worker dies, or comes too late',
    every: 900,
    async round({ unary, signal }, round) {
      const key = `image-${round % 4}`;
      await unary.submit({ queue: queue('images'), items: [{ key, payload: Buffer.alloc(2_000) }] }, SHORT);
      const taken = await unary.acquire({ queues: [queue('images')], wait: 200 }, SHORT);
      const [delivery] = taken.deliveries;
      if (delivery === undefined) return;
      const { turn } = delivery;
      await pass(signal, 200);
      await unary.renew({ turns: [turn] }, SHORT);
      if (round % 3 === 0) await pass(signal, 700);
      // It carries an item: this is refused.
      if (round % 3 === 1) await unary.deQueue({ ...turn }, SHORT).catch(() => undefined);
      await unary.ack({ ...turn }, SHORT);
    },
  },
  {
    name: 'accounts: a poisoned item parks its key, a person resumes it',
    every: 2_500,
    async round({ unary, signal }, round) {
      const key = `account-${round % 5}`;
      await unary.submit({ queue: queue('accounts'), items: [{ key }, { key }] }, SHORT);
      const { deliveries } = await unary.acquire({ queues: [queue('accounts')], wait: 200 }, SHORT);
      const kind = round % 4 === 3 ? 'release' : 'dead_letter';
      for (const { turn } of deliveries) await unary.nack({ ...turn, kind, error: 'poisoned' }, SHORT);
      await pass(signal, 1_500);
      await unary.admin.resumeKey(queue('accounts'), key, SHORT);
      await unary.admin.discard({ queue: queue('accounts') }, false, SHORT);
    },
  },
  {
    name: 'a person looks, evicts, pauses and sets limits',
    every: 1_500,
    async round({ unary }, round) {
      const held = await unary.enQueue({ queue: queue('reports'), key: 'evicted', wait: 0, lease: 5_000 }, SHORT);
      if (held.decision === 'accept') await unary.admin.evictHolder(queue('reports'), 'evicted', SHORT);
      await unary.admin.listQueues({}, SHORT);
      await unary.admin.explainKey(queue('orders'), 'customer-1', SHORT);
      await unary.admin.setLimits(queue('mails'), { rate: undefined, maxInFlight: 2 + (round % 2) }, SHORT);
      await unary.admin.pauseQueue(queue('archive'), SHORT);
      await unary.submit({ queue: queue('archive'), items: [{ key: `box-${round % 10}` }] }, SHORT);
      await unary.admin.discard({ queue: queue('archive') }, true, SHORT);
    },
  },
  {
    name: 'somebody asks for what is not allowed',
    every: 2_000,
    round: ({ unary }) => unary.deQueue({ queue: queue('thumbnails'), key: 'photo-1', token: 1 }, SHORT),
  },
  {
    name: 'somebody watches',
    every: 1_000,
    async round({ unary, signal }) {
      const ended = AbortSignal.any([signal, AbortSignal.timeout(4_000)]);
      for await (const _ of unary.admin.watchEvents('orders', undefined, { signal: ended })) if (ended.aborted) return;
    },
  },
];

/** They want the turns of a few keys, so that they meet. */
function callers(name: string, count: number, of: LoadQueue, key: (round: number) => string): readonly Scene[] {
  return Array.from({ length: count }, (_, caller) => ({
    name: `${name} ${caller}`,
    every: 10,
    round: ({ session, signal }: Stage, round: number) => session.withTurn(queue(of), key(round), () => pass(signal)),
  }));
}

/** One consumer for as long as the load lasts. */
/** One of those of whom one leads at a time; now and then it cannot begin. */
function leading(name: string): Scene {
  return {
    name,
    every: 200,
    async round({ session, signal }) {
      const inaugurate = () => {
        if (chance(0.1)) throw new Error('no database');
      };
      const career = { inaugurate, execute: (_term: number, asked: AbortSignal) => pass(asked) };
      const leadership = session.lead('scheduler', career, { once: true });
      const stop = () => void leadership.stop({ timeout: 0 });
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
      await leadership.ended;
      signal.removeEventListener('abort', stop);
    },
  };
}

function consuming(name: string, from: LoadQueue, handler: (work: Work) => Promise<void>): Scene {
  return {
    name,
    every: 200,
    async round({ session, signal }) {
      const consumer = session.consume(queue(from), handler, {
        concurrency: 4,
        wait: 1_000,
        signal,
        onError: () => undefined,
      });
      await consumer.done;
    },
  };
}

/** The compiler knows which queues there are. */
function queue(name: LoadQueue): string {
  return name;
}

function chance(share: number): boolean {
  return Math.random() < share;
}

/** Work that takes a while, shorter when the load is stopped. */
function pass(signal: AbortSignal, ms = WORK): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}
