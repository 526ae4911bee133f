/** Clients that do not read, or send without waiting: what the server keeps for them is bounded, and others notice nothing. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Stream, connect as connectHttp2, constants } from 'node:http2';
import { test } from 'node:test';
import type { AwaitAnswer, Reply } from '../../../src/coordinator.js';
import { Status } from '../../../src/grpc/gen/google/rpc/status.js';
import { localCoordinator } from '../../support/local-coordinator.js';
import { beginSession, commands, expecting, SessionClient, sendOn } from '../../support/session-client.js';
import { startSidecar } from '../../support/sidecar.js';
import { until } from '../../support/until.js';
import { type Failure, failureIn } from '../errors.js';
import { FakeSession } from '../fake-coordinator.js';

const RESULT_BYTES = 100_000;
const answer: AwaitAnswer = { state: 'done', result: Buffer.alloc(RESULT_BYTES), error: undefined, attempt: 1 };
const UNSENT = 1_000_000;

/** Answers of 100 kB, at once or when {@link answerAll} says so. */
class LargeAnswers extends FakeSession {
  asked = 0;
  cancelled = 0;
  readonly waiting: Reply<AwaitAnswer>[] = [];

  override awaitItem: FakeSession['awaitItem'] = ({ itemId }, reply) => {
    this.asked += 1;
    if (itemId === 'now') {
      reply.answer(answer);
      return undefined;
    }
    this.waiting.push(reply);
    return {
      cancel: () => {
        this.cancelled += 1;
      },
    };
  };

  /** @returns how many could be told */
  answerAll(): number {
    return this.waiting.splice(0).filter((reply) => reply.answer(answer)).length;
  }
}

/** Long enough for everything that is on its way over loopback to arrive. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 100));

/** How the stream ended, when its client reads at last. */
async function endOf(stream: ClientHttp2Stream): Promise<Failure> {
  stream.resume();
  const [trailers] = await once(stream, 'trailers');
  const details = Buffer.from(String(trailers['grpc-status-details-bin']), 'base64');
  return failureIn(Status.decode(details));
}

const many = (count: number) => Array.from({ length: count }, () => commands.awaitItem('now'));

test('of a client that does not read no more is asked than fills its share, in the middle of a message too', async (t) => {
  const session = new LargeAnswers();
  const { address, raw } = await startSidecar(t, session.coordinator(), { limits: { unsentBytes: UNSENT } });
  const connection = connectHttp2(`http://${address}`);
  // The server may be the one that ends it, after the test.
  connection.on('error', () => {});
  t.after(() => connection.destroy());
  const deaf = beginSession(connection, ...many(500));
  await until(() => session.asked >= 10);
  await settle();
  assert.ok(session.asked <= UNSENT / RESULT_BYTES + 1, `${session.asked} were asked`);
  const before = session.asked;
  // What it sends on stays with it, but for what the window of HTTP/2 and one message in hand take.
  const padding = commands.cancel(1);
  for (let message = 0; message < 200; message++) sendOn(deaf, ...Array.from({ length: 500 }, () => padding));
  await settle();
  assert.ok(deaf.writableLength > 500_000, `${deaf.writableLength} bytes wait at the client`);
  const other = new SessionClient(raw);
  await other.ask('awaitItem', commands.awaitItem('now'));
  assert.equal(session.asked, before + 1, 'the other one goes on, this one does not');
  deaf.resume();
  await until(() => session.asked === 501);
  await until(() => deaf.writableLength === 0);
});

test('a client that reads slowly gets everything', async (t) => {
  const session = new LargeAnswers();
  const limits = { unsentBytes: 150_000, unreadFor: 1_500 };
  const { raw } = await startSidecar(t, session.coordinator(), { limits });
  const slow = new SessionClient(raw);
  // grpc-js reads 16 messages ahead; with more of them the server notices that it is slow.
  const ids = slow.send(...many(80));
  let pauses = 0;
  slow.stream.on('data', () => {
    pauses += 1;
    slow.stream.pause();
    setTimeout(() => slow.stream.resume(), 80);
  });
  for (const id of ids) expecting('awaitItem', await slow.reply(id));
  assert.ok((pauses - 16) * 80 > limits.unreadFor, `its ${pauses} pauses together are longer than unread_for`);
});

test('a client that takes nothing for unread_for hears LIMIT when it reads again; what waited is given up', async (t) => {
  const session = new LargeAnswers();
  const limits = { unsentBytes: UNSENT, unreadFor: 200 };
  const { address, raw } = await startSidecar(t, session.coordinator(), { limits });
  const connection = connectHttp2(`http://${address}`);
  // The server may be the one that ends it, after the test.
  connection.on('error', () => {});
  t.after(() => connection.destroy());
  const deaf = beginSession(connection, commands.awaitItem('later'), ...many(500));
  await until(() => session.cancelled === 1);
  const other = new SessionClient(raw);
  await other.ask('awaitItem', commands.awaitItem('now'));
  assert.equal(session.answerAll(), 0, 'nobody can be told any more');
  const error = await endOf(deaf);
  assert.deepEqual([error.code, error.reason], ['RESOURCE_EXHAUSTED', 'LIMIT']);
  assert.equal(error.quota[0]?.subject, 'unread_for');
  assert.match(error.message, /read none of its answers for 200 ms \(limits\.unread_for\)/);
  await until(() => session.closed === 1);
});

test('one that never reads again is cut off a little later', async (t) => {
  const session = new LargeAnswers();
  const limits = { unsentBytes: UNSENT, unreadFor: 200 };
  const { address } = await startSidecar(t, session.coordinator(), { limits });
  const connection = connectHttp2(`http://${address}`);
  // The server may be the one that ends it, after the test.
  connection.on('error', () => {});
  t.after(() => connection.destroy());
  const deaf = beginSession(connection, ...many(500));
  await new Promise((resolve) => deaf.once('close', resolve));
  assert.equal(deaf.rstCode, constants.NGHTTP2_ENHANCE_YOUR_CALM, 'RESOURCE_EXHAUSTED to a client of gRPC');
  assert.equal(session.closed, 1);
});

test('answers that come together beyond most_unsent_bytes end the stream, and the rest is not told', async (t) => {
  const session = new LargeAnswers();
  const limits = { unsentBytes: UNSENT, mostUnsentBytes: 3 * UNSENT };
  const { address } = await startSidecar(t, session.coordinator(), { limits });
  const connection = connectHttp2(`http://${address}`);
  // The server may be the one that ends it, after the test.
  connection.on('error', () => {});
  t.after(() => connection.destroy());
  const deaf = beginSession(connection, ...Array.from({ length: 500 }, () => commands.awaitItem('later')));
  await until(() => session.asked === 500);
  const told = session.answerAll();
  assert.ok(told >= 29 && told <= 31, `${told} were told`);
  const error = await endOf(deaf);
  assert.deepEqual([error.code, error.reason], ['RESOURCE_EXHAUSTED', 'LIMIT']);
  assert.equal(error.quota[0]?.subject, 'most_unsent_bytes');
  await until(() => session.closed === 1);
});

test('when the server stops, what one still has to read comes before the end', async (t) => {
  const session = new LargeAnswers();
  const { address, server } = await startSidecar(t, session.coordinator());
  const connection = connectHttp2(`http://${address}`);
  // The server may be the one that ends it, after the test.
  connection.on('error', () => {});
  t.after(() => connection.destroy());
  const deaf = beginSession(connection, commands.awaitItem('later'), ...many(5));
  await until(() => session.asked === 6);
  await settle();
  assert.equal(session.answerAll(), 1, 'behind the others, which are on their way');
  const stopped = server.stop(30_000);
  let received = 0;
  deaf.on('data', (bytes) => {
    received += bytes.length;
  });
  assert.equal((await endOf(deaf)).reason, 'DRAINING');
  assert.ok(received > 6 * RESULT_BYTES, `${received} bytes`);
  await stopped;
});

test('a client that sends without waiting is answered, and one beside it too', async (t) => {
  const coordinator = localCoordinator(t);
  const { raw } = await startSidecar(t, coordinator, { limits: { unsentBytes: 100_000 } });
  const eager = new SessionClient(raw);
  const other = new SessionClient(raw);
  let answered = 0;
  eager.stream.on('data', ({ replies }) => {
    answered += replies.length;
  });
  let id = 0;
  for (let message = 0; message < 50; message++) {
    const sent = Array.from({ length: 1_000 }, () => ({ id: id++, call: commands.enqueue({ key: `k${id}` }) }));
    eager.stream.write({ commands: sent });
  }
  let rounds = 0;
  while (answered < id) {
    await other.ask('cancel', commands.cancel(0));
    rounds += 1;
  }
  assert.ok(rounds > 10, `the other one was answered ${rounds} times meanwhile`);
});
