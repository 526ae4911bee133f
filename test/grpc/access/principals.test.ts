/** Two principals on one sidecar: what one has, the other one neither gets nor learns of. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type DeadLetter,
  ListDeadLettersRequest,
  ListQueuesRequest,
  WatchEventsRequest,
} from '../../../src/grpc/gen/keyturn/v1/admin.js';
import { AcquireRequest, type Command, EnQueueRequest, NewItem } from '../../../src/grpc/gen/keyturn/v1/coordinator.js';
import { commands, expecting, SessionClient, seconds } from '../../support/session-client.js';
import { message, type Sidecar } from '../../support/sidecar.js';
import { until } from '../../support/until.js';
import { failureIn, failureOf } from '../errors.js';
import { stage, turnOf } from './two-principals.js';

type Call = NonNullable<Command['call']>;

describe('principals are apart', () => {
  test('a session id of another principal is another session: nobody is replaced, and no turn is taken over', async (t) => {
    const { session } = await stage(t);
    const ada = session('ada');
    await ada.ask('hello', commands.hello({ sessionId: 'the-session' }));
    const turn = turnOf(await ada.ask('enqueue', commands.enqueue()));
    const bob = session('bob');
    const hello = await bob.ask('hello', commands.hello({ sessionId: 'the-session' }));
    assert.equal(hello.sessionId, 'the-session', 'each knows it by the id that it gave');
    assert.equal(hello.turnCount, 0);
    // Ada's stream is open, and has its turn.
    await ada.ask('dequeue', commands.dequeue(turn.token));
  });

  test('an id that the sidecar made is good for coming back, for the same principal only', async (t) => {
    const { session } = await stage(t);
    const first = session('ada');
    const { sessionId } = await first.ask('hello', commands.hello());
    const turn = turnOf(await first.ask('enqueue', commands.enqueue()));
    const bob = session('bob');
    assert.equal((await bob.ask('hello', commands.hello({ sessionId }))).turnCount, 0);
    const again = session('ada');
    const { turns } = await again.ask('hello', commands.hello({ sessionId }));
    assert.deepEqual(
      turns.map(({ token }) => token),
      [turn.token],
    );
  });

  test('a ticket of another principal is another ticket: neither a place nor a turn nor items are got by it', async (t) => {
    const { session } = await stage(t);
    const ada = session('ada');
    const bob = session('bob');
    const held = turnOf(await ada.ask('enqueue', commands.enqueue({ ticket: 'the-ticket', wait: seconds(0) })));
    const answer = await bob.ask('enqueue', commands.enqueue({ ticket: 'the-ticket', wait: seconds(0) }));
    assert.equal(answer.turn, undefined, 'the turn is not told to who knows the ticket');
    const again = await ada.ask('enqueue', commands.enqueue({ ticket: 'the-ticket', wait: seconds(0) }));
    assert.equal(turnOf(again).token, held.token, 'its owner comes back to it');
    assert.equal(again.ticket, 'the-ticket');
    // A dispatch of items, whose ticket also gives turns of queues that the call does not name.
    const items = [{ ...message(NewItem), key: 'k', payload: Buffer.from('secret of ada') }];
    await ada.ask('submit', commands.submit({ queue: 'ada.jobs', items }));
    const first = await ada.ask(
      'acquire',
      commands.acquire({ queues: ['ada.jobs'], ticket: 'd', consumerId: 'worker' }),
    );
    assert.equal(first.deliveries.length, 1);
    const taken = await bob.ask(
      'acquire',
      commands.acquire({ queues: ['bob.jobs'], ticket: 'd', consumerId: 'worker' }),
    );
    assert.deepEqual(taken.deliveries, []);
    const same = await ada.ask(
      'acquire',
      commands.acquire({ queues: ['ada.jobs'], ticket: 'd', consumerId: 'worker' }),
    );
    assert.deepEqual(
      same.deliveries.map(({ turn }) => turn?.token),
      first.deliveries.map(({ turn }) => turn?.token),
    );
  });

  test("giving up by a ticket gives up what is one's own", async (t) => {
    const { session } = await stage(t);
    const ada = session('ada');
    const bob = session('bob');
    const held = turnOf(await ada.ask('enqueue', commands.enqueue({ ticket: 'mine' })));
    const [id = 0] = bob.send(commands.dequeue(0n, { holder: { $case: 'ticket', value: 'mine' } }));
    await bob.reply(id);
    await ada.ask('dequeue', commands.dequeue(held.token));
  });

  test('who stands in the line is told by ids, without the names that stand before them', async (t) => {
    const { session } = await stage(t);
    const ada = session('ada');
    await ada.ask('enqueue', commands.enqueue({ ticket: 'first' }));
    ada.send(commands.enqueue({ ticket: 'second', wait: seconds(60) }));
    const declined = await ada.ask('enqueue', commands.enqueue({ ticket: 'third' }));
    assert.equal(declined.survivorId, 'second');
  });

  const followUp = (queue: string, after: { queue: string; itemId: string }[] = []) => ({
    queue,
    item: { ...message(NewItem), key: 'k', after },
  });
  const foreign: readonly (readonly [what: string, command: Call, verb: string, queue: string])[] = [
    ['a turn', commands.enqueue({ queue: 'bob.q' }), 'consume', 'bob.q'],
    ['the end of a turn', commands.dequeue(7n, { queue: 'bob.q' }), 'consume', 'bob.q'],
    ['a message', commands.submit({ queue: 'bob.q', items: [followUp('').item] }), 'produce', 'bob.q'],
    [
      'a message that waits for a foreign one',
      commands.submit({ items: [followUp('', [{ queue: 'bob.q', itemId: 'i' }]).item] }),
      'produce',
      'bob.q',
    ],
    ['messages, one of several queues', commands.acquire({ queues: ['q', 'bob.q'] }), 'consume', 'bob.q'],
    ['a follow-up', commands.ack(7n, { followUps: [followUp('bob.q')] }), 'produce', 'bob.q'],
    [
      'a follow-up that waits for a foreign one',
      commands.ack(7n, { followUps: [followUp('q', [{ queue: 'bob.q', itemId: 'i' }])] }),
      'produce',
      'bob.q',
    ],
    [
      'the next message',
      commands.ack(7n, { next: message(AcquireRequest, { queues: ['bob.q'] }) }),
      'consume',
      'bob.q',
    ],
    ['an end with an error', commands.nack(7n, { queue: 'bob.q' }), 'consume', 'bob.q'],
    [
      'life for a turn, one of several',
      commands.renew({
        turns: [
          { queue: 'q', key: 'k', token: 7n },
          { queue: 'bob.q', key: 'k', token: 8n },
        ],
      }),
      'consume',
      'bob.q',
    ],
    ['the result of an item', commands.awaitItem('i', { queue: 'bob.q' }), 'produce', 'bob.q'],
  ];
  for (const [what, command, verb, queue] of foreign) {
    test(`on a session, ${what} of a foreign queue is refused, and the session goes on`, async (t) => {
      const { session } = await stage(t);
      const ada = session('ada');
      const [id = 0] = ada.send(command);
      const failure = failureIn(expecting('error', await ada.reply(id)));
      assert.deepEqual(
        [failure.reason, failure.metadata['verb'], failure.metadata['what']],
        ['NOT_ALLOWED', verb, `queue ${queue}`],
      );
      turnOf(await ada.ask('enqueue', commands.enqueue()));
    });
  }

  test('of queues that may not be viewed not even the names are told', async (t) => {
    const { rawAdmin, metadata, session } = await stage(t);
    await session('ada').ask('enqueue', commands.enqueue({ queue: 'ada.q' }));
    await session('bob').ask('enqueue', commands.enqueue({ queue: 'bob.q' }));
    const names = (name: string) =>
      new Promise<readonly string[]>((resolve, reject) => {
        rawAdmin.listQueues(message(ListQueuesRequest, { pageSize: 1 }), metadata(name), (error, answer) =>
          error
            ? reject(error)
            : resolve([...answer.queues.map((queue) => queue.name), ...(answer.nextPageToken === '' ? [] : ['more'])]),
        );
      });
    assert.deepEqual([await names('ada'), await names('bob')], [['ada.q'], ['bob.q']]);
    await session('ada').ask('enqueue', commands.enqueue({ queue: 'ada.r' }));
    assert.deepEqual(await names('ada'), ['ada.q', 'more']);
  });

  test('without payload a dead letter comes without what it carries', async (t) => {
    const { rawAdmin, metadata, session } = await stage(t);
    const letters = (name: string, queue: string) =>
      new Promise<readonly DeadLetter[]>((resolve, reject) => {
        rawAdmin.listDeadLetters(message(ListDeadLettersRequest, { queue }), metadata(name), (error, answer) =>
          error ? reject(error) : resolve(answer.deadLetters),
        );
      });
    for (const name of ['ada', 'bob']) {
      const queue = `${name}.dead`;
      const worker = session(name);
      const items = [
        { ...message(NewItem), key: 'k', payload: Buffer.from('secret'), headers: new Map([['h', 'secret']]) },
      ];
      await worker.ask('submit', commands.submit({ queue, items }));
      const { deliveries } = await worker.ask('acquire', commands.acquire({ queues: [queue] }));
      const token = deliveries[0]?.turn?.token ?? assert.fail('an item was delivered');
      await worker.ask('nack', commands.nack(token, { queue, kind: 3, error: 'no' }));
      const [letter] = await letters(name, queue);
      assert.equal(letter?.item?.payload.length, name === 'ada' ? 6 : 0);
      assert.equal(letter?.item?.headers.size, name === 'ada' ? 1 : 0);
    }
  });

  test('a token that is taken away ends its streams, and those alone', async (t) => {
    const { session, keep, rawAdmin, metadata } = await stage(t);
    const ada = session('ada');
    const bob = session('bob');
    await ada.ask('hello', commands.hello());
    const turn = turnOf(await bob.ask('enqueue', commands.enqueue()));
    const events = rawAdmin.watchEvents(message(WatchEventsRequest, { queue: 'q' }), metadata('ada'));
    const ended = new Promise<string>((resolve) => events.on('error', (error) => resolve(error.message)));
    events.resume();
    await new Promise((resolve) => events.once('metadata', resolve));
    keep('bob');
    const failure = await failureOf(ada.failed());
    assert.deepEqual([failure.code, failure.reason], ['UNAUTHENTICATED', 'NO_CREDENTIALS']);
    assert.match(await ended, /does not hold any more/);
    await bob.ask('dequeue', commands.dequeue(turn.token));
    assert.match((await failureOf(session('ada').failed())).message, /not known here/);
  });

  test('a call that waits ends with its token: it gives up its place, and gets no turn any more', async (t) => {
    const { session, keep, raw, metadata, coordinator } = await stage(t);
    const bob = session('bob');
    const turn = turnOf(await bob.ask('enqueue', commands.enqueue()));
    const waits = new Promise<string>((resolve) => {
      const request = message(EnQueueRequest, { queue: 'q', key: 'k', consumerId: 'ada', wait: seconds(60) });
      raw.enQueue(request, metadata('ada'), (error) =>
        resolve(error === null ? 'a turn' : `${error.code} ${error.details}`),
      );
    });
    const waiting = () => coordinator.stats().queues.reduce((sum, { view }) => sum + view.waitingCallers, 0);
    await until(() => waiting() === 1);
    keep('bob');
    assert.match(await waits, /what ada showed .* does not hold any more/);
    assert.equal(waiting(), 0);
    await bob.ask('dequeue', commands.dequeue(turn.token));
    turnOf(await bob.ask('enqueue', commands.enqueue({ wait: seconds(0) })));
  });

  test('who shows nothing reaches nothing but the health check, and it is told who was not let in', async (t) => {
    const { raw, refusedCalls } = await stage(t);
    const failure = await failureOf(new SessionClient(raw).failed());
    assert.equal(failure.reason, 'NO_CREDENTIALS');
    for (const path of [
      '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
      '/grpc.health.v1.Health/Watch',
      '/no.such.Service/Call',
    ]) {
      const code = await statusOf(raw, path);
      assert.equal(code, path.startsWith('/no.such') ? 12 : 16, path);
    }
    assert.equal(await statusOf(raw, '/grpc.health.v1.Health/Check'), 0);
    assert.equal(refusedCalls.length, 3);
    assert.match(
      refusedCalls[0] ?? '',
      /^127\.0\.0\.1 \/keyturn\.v1\.CoordinatorService\/Session nothing says who is asking/,
    );
  });
});

function statusOf(client: Sidecar['raw'], path: string): Promise<number> {
  return new Promise((resolve) => {
    const stream = client.makeBidiStreamRequest(
      path,
      (sent: Buffer) => sent,
      (received: Buffer) => received,
    );
    stream.on('error', () => {});
    stream.on('status', ({ code }) => resolve(code));
    stream.on('data', () => {});
    stream.end(Buffer.alloc(0));
  });
}
