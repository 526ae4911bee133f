/** The example worker with a real RabbitMQ, a real sidecar, and a store that sees everything from outside. */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { connect as connectBroker } from 'amqplib';
import { type Serving, serve } from '../cli/keyturn-process.js';
import { needs } from '../support/needed-program.js';
import type { Said } from '../support/node-process.js';
import { RABBITMQ, startRabbitmq } from '../support/rabbitmq.js';
import { Crew, startExample } from './crew.js';
import { PhotoLedger } from './photo-ledger.js';

describe('the example worker for RabbitMQ', { ...needs(RABBITMQ), timeout: 240_000 }, () => {
  const tasks: (() => Promise<void> | void)[] = [];
  let amqpUrl: string;
  let sidecar: Serving;

  before(async () => {
    const cleanup = { after: (task: () => Promise<void> | void) => void tasks.unshift(task) };
    [amqpUrl, sidecar] = await Promise.all([startRabbitmq(cleanup), serve(cleanup)]);
  });
  after(async () => {
    for (const task of tasks) await task();
  });

  interface Scene {
    readonly ledger: PhotoLedger;
    readonly crew: Crew;
    readonly env: NodeJS.ProcessEnv;
    readonly storeUrl: string;
  }

  async function scene(t: TestContext, queue: string): Promise<Scene> {
    const ledger = new PhotoLedger();
    const crew = new Crew(t);
    const listen = (said: Said) => {
      ledger.note(said);
      crew.wake();
    };
    const store = startExample(t, 'store', { STORE_PORT: '0' }, { listen });
    const { listening } = await store.says((said) => said['listening'] !== undefined);
    const storeUrl = `http://127.0.0.1:${listening}`;
    const env = { AMQP_URL: amqpUrl, KEYTURN_ADDRESS: sidecar.address, QUEUE: queue, STORE_URL: storeUrl };
    return { ledger, crew, env, storeUrl };
  }

  /** Lets the workers finish, and looks what is left: what was not acked is in the queue again. */
  async function assertNothingLeft(queue: string, { crew, ledger }: Scene): Promise<void> {
    for (const worker of crew.workers) worker.kill('SIGTERM');
    const codes = await Promise.all(crew.workers.map((worker) => worker.ended));
    assert.deepEqual(
      codes.map((code) => (code === 'SIGKILL' ? 0 : code)),
      codes.map(() => 0),
      crew.workers.flatMap(({ words }) => words).join('\n'),
    );
    const broker = await connectBroker(amqpUrl);
    const channel = await broker.createChannel();
    const { messageCount } = await channel.checkQueue(queue);
    await broker.close();
    assert.deepEqual([messageCount, ledger.open, ledger.problems], [0, 0, []]);
  }

  it('one worker at a time is on a photo, every message is acked, and what is not needed is not done', async (t) => {
    const here = await scene(t, 'coalesce');
    const { crew, ledger, env } = here;
    for (let n = 0; n < 3; n++) crew.hire({ ...env, RENDER_MS: '20' });
    const [messages, photos] = [150, 12];
    const publishedAt = new Map<string, number>();
    const broker = await connectBroker(amqpUrl);
    t.after(() => broker.close());
    const channel = await broker.createConfirmChannel();
    await channel.assertQueue('coalesce', { durable: true });
    // One that is still starting when all is done would end by the signal itself.
    const all = crew.workers.length;
    for (const begun = Date.now(); (await channel.checkQueue('coalesce')).consumerCount < all; )
      assert.ok(Date.now() - begun < 60_000, 'every worker consumes within a minute');
    for (let n = 0; n < messages; n++) {
      const photo = `photo-${(n * 7) % photos}`;
      publishedAt.set(photo, Date.now());
      channel.sendToQueue('coalesce', Buffer.from(photo), { messageId: String(n) });
      // Photos change while others of them are in work: some arrive early, some late.
      if (n % 50 === 49) await crew.until('a part is done', () => crew.acked > n - 50);
    }
    await crew.until('every message is acked', () => crew.acked === messages);
    const [done, declined] = [crew.count('done'), crew.count('declined')];
    assert.deepEqual([done + declined, ledger.problems], [messages, []]);
    assert.equal(ledger.runs, done, 'what was declined was not done');
    assert.ok(declined >= messages / 10, `${declined} of ${messages} saved`);
    for (const [photo, at] of publishedAt)
      assert.ok(ledger.lastBegan(photo) >= at, `the last change of ${photo} was seen`);
    await assertNothingLeft('coalesce', here);
  });

  it('the messages of a worker that is killed in the middle are processed by others', async (t) => {
    const here = await scene(t, 'killed');
    const { crew, ledger, env } = here;
    const messages = 60;
    const brief = { ...env, WAIT_MS: '500' };
    const victim = crew.hire({ ...brief, RENDER_MS: '600000' });
    await startExample(t, 'publish', env, { args: [String(messages), '5'] }).ended;
    await crew.until('the victim is at work on all photos', () => ledger.open === 5);
    for (let n = 0; n < 3; n++) crew.hire({ ...brief, RENDER_MS: '20' });
    await crew.until('somebody waits in vain', () => crew.count('blocked') > 0);
    victim.kill('SIGKILL');
    assert.equal(await victim.ended, 'SIGKILL');
    const killedAt = Date.now();
    const photos = ledger.died(victim.pid);
    assert.equal(photos.length, 5);
    await crew.until('every message is acked', () => crew.acked === messages);
    for (const photo of photos) assert.ok(ledger.lastBegan(photo) > killedAt, `${photo} was done again`);
    const others = crew.workers.filter((worker) => worker !== victim);
    assert.ok(others.some(({ said }) => said.some(({ redelivered }) => redelivered === true)));
    await assertNothingLeft('killed', here);
  });

  it('the store refuses a token that is smaller than one it has seen', async (t) => {
    const { storeUrl } = await scene(t, 'store');
    const put = async (token: number) => {
      const headers = { 'fencing-token': String(token) };
      return (await fetch(`${storeUrl}/thumbnails/photo-1`, { method: 'PUT', headers })).status;
    };
    assert.deepEqual([await put(7), await put(7), await put(6), await put(8)], [200, 200, 412, 200]);
  });
});
