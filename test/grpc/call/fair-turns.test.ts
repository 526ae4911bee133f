/** Many unary calls of one connection, beside those of others. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2, constants } from 'node:http2';
import { type TestContext, test } from 'node:test';
import type { EnQueueAnswer } from '../../../src/coordinator.js';
import { type FairConnection, FairTurns } from '../../../src/grpc/call/fair-turns.js';
import { EnQueueRequest } from '../../../src/grpc/gen/keyturn/v1/coordinator.js';
import { call, message, type SidecarOptions, startSidecar } from '../../support/sidecar.js';
import { until } from '../../support/until.js';
import { FakeCoordinator } from '../fake-coordinator.js';
import { enQueueOver } from '../http2-calls.js';

/** The event loop, turn by turn. */
class Stage {
  readonly begun: string[] = [];
  readonly read: string[] = [];
  readonly broken: number[] = [];
  #ahead: (() => void)[] = [];
  #look: (() => void) | undefined;
  readonly turns = new FairTurns(
    { unsentBytes: 1_000_000, unreadFor: 30_000 },
    {
      atEnd: (task) => task(),
      next: (task) => void this.#ahead.push(task),
      after: (_, task) => {
        this.#look = task;
      },
    },
  );

  connection(name: string): FairConnection {
    const told = (what: string) => () => void this.read.push(`${name} ${what}`);
    return this.turns.of(EMPTY(), { stop: told('stop'), go: told('go') });
  }

  begin(connection: FairConnection, name: string, count = 1): boolean[] {
    return Array.from({ length: count }, (_, at) => connection.begin(() => void this.begun.push(`${name}${at}`)));
  }

  turn(): void {
    const tasks = this.#ahead;
    this.#ahead = [];
    for (const task of tasks) task();
  }

  get isIdle(): boolean {
    return this.#ahead.length === 0;
  }

  look(): void {
    const look = this.#look;
    this.#look = undefined;
    look?.();
  }

  /** An answer that nobody takes until its stream is closed. */
  sent(connection: FairConnection, bytes = 100): EventEmitter {
    const broken = (code: number) => {
      this.broken.push(code);
      stream.emit('close');
    };
    const stream = Object.assign(new EventEmitter(), { destroyed: false, writableLength: bytes, close: broken });
    connection.sent(stream as unknown as Parameters<FairConnection['sent']>[0]);
    return stream;
  }
}

const EMPTY = () => ({ destroyed: true }) as unknown as Parameters<FairTurns['of']>[0];

test('a connection begins 16 calls at once and the rest in order, 32 in a turn; meanwhile it is not read', () => {
  const stage = new Stage();
  const many = stage.connection('many');
  stage.begin(many, 'm', 2_000);
  assert.equal(stage.begun.length, 16);
  assert.deepEqual(stage.read, ['many stop']);
  stage.turn();
  assert.equal(stage.begun.length, 48);
  while (!stage.isIdle) stage.turn();
  assert.deepEqual(
    stage.begun,
    Array.from({ length: 2_000 }, (_, at) => `m${at}`),
  );
  assert.deepEqual(stage.read, ['many stop', 'many go']);
  stage.begin(many, 'again');
  assert.equal(stage.begun.length, 2_001, 'what comes later waits for nothing');
});

test('a call of another connection begins at once, however many wait', () => {
  const stage = new Stage();
  for (const name of ['a', 'b', 'c']) stage.begin(stage.connection(name), name, 1_000);
  stage.turn();
  const before = stage.begun.length;
  stage.begin(stage.connection('other'), 'other');
  assert.deepEqual(stage.begun.slice(before), ['other0']);
});

test('connections with many calls begin theirs by turns, and one of them is read on in a turn', () => {
  const stage = new Stage();
  const [a, b] = [stage.connection('a'), stage.connection('b')];
  stage.begin(a, 'a', 1_000);
  stage.begin(b, 'b', 1_000);
  stage.turn();
  assert.deepEqual(stage.begun.slice(32, 36), ['a16', 'b16', 'a17', 'b17']);
  while (stage.read.length < 3) stage.turn();
  const left = 2_000 - stage.begun.length;
  assert.ok(left <= 16 && left > 0, `${left} were left when reading went on`);
  stage.turn();
  assert.deepEqual(stage.read, ['a stop', 'b stop', 'a go', 'b go']);
});

test('with 1,000 answers unread no call begins, the connection is read, and it goes on when one is taken', () => {
  const stage = new Stage();
  const slow = stage.connection('slow');
  const answers = Array.from({ length: 1_000 }, () => stage.sent(slow));
  assert.ok(stage.begin(slow, 's', 1_000).every(Boolean));
  for (let turn = 0; turn < 3; turn += 1) stage.turn();
  assert.deepEqual([stage.begun, stage.read, stage.isIdle], [[], [], true]);
  assert.deepEqual(stage.begin(slow, 'one more'), [false], 'it is not kept');
  answers[500]?.emit('close');
  stage.turn();
  assert.equal(stage.begun.length, 32);
});

test('bytes that are unread count, and those of answers that were taken do not', () => {
  const stage = new Stage();
  const slow = stage.connection('slow');
  const large = stage.sent(slow, 1_000_001);
  stage.begin(slow, 's');
  assert.deepEqual(stage.begun, []);
  large.emit('close');
  stage.turn();
  assert.deepEqual(stage.begun, ['s0']);
  assert.equal(slow.isClogged, false);
});

test('a connection that is not read any more, and then leaves its answers unread, is read again', () => {
  const stage = new Stage();
  const slow = stage.connection('slow');
  stage.begin(slow, 's', 500);
  assert.deepEqual(stage.read, ['slow stop']);
  for (let answer = 0; answer < 1_000; answer += 1) stage.sent(slow);
  stage.turn();
  assert.deepEqual(stage.read, ['slow stop', 'slow go']);
  stage.turn();
  assert.equal(stage.isIdle, true, 'nothing turns for it');
});

test('an answer that was unread for all of unread_for is broken off, and no other', () => {
  const stage = new Stage();
  const slow = stage.connection('slow');
  stage.sent(slow);
  stage.look();
  stage.sent(slow);
  stage.look();
  assert.deepEqual(stage.broken, []);
  stage.look();
  assert.deepEqual(stage.broken, [constants.NGHTTP2_ENHANCE_YOUR_CALM]);
  stage.look();
  assert.equal(stage.broken.length, 2);
  stage.look();
  stage.sent(slow);
  stage.look();
  assert.equal(stage.broken.length, 2, 'looks begin anew with a next answer');
});

const ANSWER: EnQueueAnswer = { decision: 'block', ahead: 1, retryAfter: undefined, ticket: undefined };

/** A key for which nobody is answered. */
const WAITS = 'waits';

/** A server of a counting port, and a client that lets no answer in. */
async function unread(t: TestContext, limits: NonNullable<SidecarOptions['limits']>) {
  const coordinator = new FakeCoordinator();
  const asked: string[] = [];
  coordinator.enQueue = ({ key }, reply) => {
    if (key === WAITS) return { cancel: () => {} };
    asked.push(key);
    reply.answer(ANSWER);
    return undefined;
  };
  const sidecar = await startSidecar(t, coordinator, { limits });
  const session = connectHttp2(`http://${sidecar.address}`, { settings: { initialWindowSize: 0 } });
  session.on('error', () => {}); // Its streams tell.
  t.after(() => session.destroy());
  await once(session, 'localSettings');
  return { ...sidecar, session, asked };
}

/**
 * A connection is allowed as many calls as that when half as many are at work. Not more than are needed: of a thousand
 * that are called off at once the connection would be closed.
 */
async function allowManyCalls(session: ClientHttp2Session, calls: number): Promise<void> {
  const waiting = Array.from({ length: Math.ceil(0.6 * calls) }, () => enQueueOver(session, WAITS));
  await until(() => (session.remoteSettings.maxConcurrentStreams ?? 0) > calls);
  const ended = Promise.all(waiting.map(closed));
  for (const stream of waiting) stream.close(constants.NGHTTP2_CANCEL);
  await ended;
}

/** Unlike `once`, an error on the way is none. */
const closed = (stream: ClientHttp2Stream) => new Promise((resolve) => stream.resume().once('close', resolve));

test('a client that leaves its answers unread begins no call, hears why a call too many is refused, and goes on when it reads', async (t) => {
  const { session, asked, raw } = await unread(t, { unsentBytes: 1 });
  await allowManyCalls(session, 1_010);
  const first = enQueueOver(session, 'first');
  await once(first, 'response');
  const held = Array.from({ length: 1_000 }, (_, at) => enQueueOver(session, `held${at}`));
  const [refused] = await once(enQueueOver(session, 'refused'), 'response');
  assert.equal(refused['grpc-status'], '8');
  assert.match(decodeURI(String(refused['grpc-message'])), /limits\.unsent_bytes.*read the answers/);
  await call(raw, raw.enQueue, message(EnQueueRequest, { queue: 'q', key: 'other' }));
  assert.deepEqual(asked, ['first', 'other']);
  const ended = Promise.all([first, ...held].map(closed));
  session.settings({ initialWindowSize: 65_535 });
  await ended;
  assert.equal(asked.length, 1_002);
});

test('an answer that is unread for unread_for ends its call, and the next one begins', async (t) => {
  const { session, asked } = await unread(t, { unsentBytes: 1, unreadFor: 20 });
  const [first, second] = [enQueueOver(session, 'first'), enQueueOver(session, 'second')];
  await Promise.all([first, second].map(closed));
  assert.equal(first.rstCode, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  assert.deepEqual(asked, ['first', 'second']);
});

test('all of 1,000 calls at once on one connection are answered', async (t) => {
  const coordinator = new FakeCoordinator();
  coordinator.enQueue = (_, reply) => void reply.answer(ANSWER) as undefined;
  const { raw } = await startSidecar(t, coordinator);
  const keys = Array.from({ length: 1_000 }, (_, at) => message(EnQueueRequest, { queue: 'q', key: `k${at}` }));
  const answers = await Promise.all(keys.map((request) => call(raw, raw.enQueue, request, 60_000)));
  assert.ok(answers.every(({ ahead }) => ahead === 1));
});
