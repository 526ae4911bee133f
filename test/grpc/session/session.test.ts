/** Session, as a client sees it: commands, answers, hello, cancel. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EnQueueAnswer, Turn } from '../../../src/coordinator.js';
import { Status } from '../../../src/grpc/gen/google/rpc/status.js';
import { AcquireRequest, type EnQueueResponse, NewItem } from '../../../src/grpc/gen/keyturn/v1/coordinator.js';
import { localCoordinator } from '../../support/local-coordinator.js';
import { commands, expecting, SessionClient, seconds } from '../../support/session-client.js';
import { message, startSidecar } from '../../support/sidecar.js';
import { failureIn, failureOf } from '../errors.js';
import { FakeSession } from '../fake-coordinator.js';

const ACCEPT = 1;
const BLOCK = 2;
const DEAD_LETTER = 3;
const bytes = (text: string) => Buffer.from(text);
const wholeMinute = { wait: seconds(60) };

function tokenOf({ decision, turn }: EnQueueResponse): bigint {
  assert.equal(decision, ACCEPT);
  assert.ok(turn);
  return turn.token;
}

const blocked: EnQueueAnswer = { decision: 'block', ahead: 1, retryAfter: undefined, ticket: undefined };
const given: Turn = { queue: 'q', key: 'k', token: 7, lease: 1_000, leaseExpiresAt: 0, attempt: 0 };

test('every call can be made on one stream', async (t) => {
  const { raw } = await startSidecar(t, localCoordinator(t));
  const session = new SessionClient(raw);
  const token = tokenOf(await session.ask('enqueue', commands.enqueue()));
  assert.deepEqual(await session.ask('dequeue', commands.dequeue(token)), { promoted: false, waiting: 0 });

  const item = message(NewItem, { key: 'k', payload: bytes('p'), headers: new Map([['a', 'b']]), itemId: 'i' });
  const { results } = await session.ask('submit', commands.submit({ items: [item, { ...item, itemId: 'j' }] }));
  assert.deepEqual(
    results.map(({ itemId, decision }) => `${itemId} ${decision}`),
    [`i ${ACCEPT}`, `j ${ACCEPT}`],
  );
  const [first] = (await session.ask('acquire', commands.acquire())).deliveries;
  const [got] = first?.items ?? [];
  assert.ok(first?.turn && got);
  assert.deepEqual([first.turn.queue, first.turn.key, got.itemId, got.attempt], ['q', 'k', 'i', 1]);
  assert.deepEqual([got.payload, got.headers], [bytes('p'), new Map([['a', 'b']])]);

  const ref = { queue: 'q', key: 'k', token: first.turn.token };
  const renewed = await session.ask('renew', commands.renew({ turns: [ref, { ...ref, token: 1n }] }));
  assert.deepEqual(
    renewed.results.map(({ alive }) => alive),
    [true, false],
  );
  const next = message(AcquireRequest, { queues: ['q'] });
  const acked = await session.ask('ack', commands.ack(first.turn.token, { result: bytes('r'), next }));
  const [second] = acked.next?.deliveries ?? [];
  assert.deepEqual([second?.turn?.key, second?.items[0]?.itemId], ['k', 'j']);
  const nacked = await session.ask('nack', commands.nack(second?.turn?.token ?? 0n, { kind: DEAD_LETTER }));
  assert.equal(nacked.deadLettered, 1);
  assert.deepEqual((await session.ask('awaitItem', commands.awaitItem('i'))).result, bytes('r'));
  assert.deepEqual(await session.ask('cancel', commands.cancel(0)), { cancelled: false });
});

test('keys of which one is written with the bytes that are the units of the other are two keys, on two streams too', async (t) => {
  const { raw } = await startSidecar(t, localCoordinator(t));
  const [one, other] = [new SessionClient(raw), new SessionClient(raw)];
  tokenOf(await one.ask('enqueue', commands.enqueue({ key: 'Ã©' })));
  tokenOf(await other.ask('enqueue', commands.enqueue({ key: 'é' })));
  const items = ['é', 'Ã©'].map((key) => message(NewItem, { key, itemId: key }));
  await other.ask('submit', commands.submit({ queue: 'items', items }));
  const { deliveries } = await one.ask('acquire', commands.acquire({ queues: ['items'], maxTurns: 2 }));
  assert.deepEqual(
    deliveries.map(({ turn, items: [item] }) => [turn?.key, item?.itemId]),
    [
      ['é', 'é'],
      ['Ã©', 'Ã©'],
    ],
  );
  for (const { turn } of deliveries) {
    assert.ok(turn);
    await other.ask('ack', commands.ack(turn.token, { queue: 'items', key: turn.key }));
  }
});

test('a reply leaves out what its command said; a turn that time does not end has no end', async (t) => {
  const { raw } = await startSidecar(t, localCoordinator(t, { policy: { lease: 1_500 } }));
  const session = new SessionClient(raw);
  const { turn } = await session.ask('enqueue', commands.enqueue());
  assert.deepEqual([turn?.queue, turn?.key, turn?.lease], ['', '', seconds(1.5)]);
  assert.ok(turn?.leaseExpiresAt);
  const { deliveries } = await session.ask('acquire', commands.acquire({ key: 'other' }));
  assert.deepEqual([deliveries[0]?.turn?.queue, deliveries[0]?.turn?.key], ['', '']);
  await session.ask('hello', commands.hello());
  const tied = await session.ask('enqueue', commands.enqueue({ key: 'tied' }));
  assert.equal(tied.turn?.leaseExpiresAt, undefined);
});

test('the commands of a message are applied in order, and their answers travel together', async (t) => {
  const { raw } = await startSidecar(t, localCoordinator(t));
  const session = new SessionClient(raw);
  const keys = Array.from({ length: 40 }, (_, index) => `k${index}`);
  const ids = session.send(
    ...keys.map((key) => commands.enqueue({ key })),
    ...keys.map((key) => commands.enqueue({ key, wait: seconds(0) })),
  );
  const outcomes = await Promise.all(ids.map((id) => session.reply(id)));
  const decisions = outcomes.map((outcome) => expecting('enqueue', outcome).decision);
  assert.deepEqual(decisions, [...keys.map(() => ACCEPT), ...keys.map(() => BLOCK)]);
  assert.equal(session.messages.length, 1);
});

test('large answers do not wait for the rest of the message', async (t) => {
  const { raw } = await startSidecar(t, localCoordinator(t));
  const session = new SessionClient(raw);
  const items = Array.from({ length: 64 }, (_, n) =>
    message(NewItem, { key: `k${n}`, itemId: `i${n}`, payload: large }),
  );
  await session.ask('submit', commands.submit({ items }));
  const before = session.messages.length;
  const ids = session.send(commands.acquire({ maxTurns: 32 }), commands.acquire({ maxTurns: 32 }));
  for (const id of ids) {
    const { deliveries } = expecting('acquire', await session.reply(id));
    assert.equal(deliveries.length, 32);
  }
  assert.equal(session.messages.length - before, 2);
});

const large = new Uint8Array(1_000);

test('more commands in a message than are run in one go are all answered', async (t) => {
  const { raw } = await startSidecar(t, localCoordinator(t));
  const session = new SessionClient(raw);
  const ids = session.send(...Array.from({ length: 2_500 }, (_, index) => commands.enqueue({ key: `k${index}` })));
  for (const id of ids) tokenOf(expecting('enqueue', await session.reply(id)));
  assert.ok(session.messages.length >= 3, 'others had their say in between');
});

test('a command that waits is answered when its turn comes; others are answered meanwhile', async (t) => {
  const coordinator = localCoordinator(t);
  const { raw } = await startSidecar(t, coordinator);
  const session = new SessionClient(raw);
  const token = tokenOf(await session.ask('enqueue', commands.enqueue()));
  const [waiting = 0] = session.send(commands.enqueue(wholeMinute));
  tokenOf(await session.ask('enqueue', commands.enqueue({ key: 'other' })));
  assert.equal(coordinator.stats().waitingCalls, 1);
  assert.ok(!session.hasReply(waiting));
  const [ended = 0] = session.send(commands.dequeue(token));
  tokenOf(expecting('enqueue', await session.reply(waiting)));
  assert.deepEqual(expecting('dequeue', await session.reply(ended)), { promoted: true, waiting: 0 });
  assert.equal(session.messages.at(-1)?.replies.length, 2, 'both were ready in the same turn of the event loop');
  assert.equal(coordinator.stats().waitingCalls, 0);
});

test('cancel ends a command that waits; its place stays with its ticket unless it leaves', async (t) => {
  const coordinator = localCoordinator(t, { policy: { waitingPerKey: 'unlimited' } });
  const { raw, client } = await startSidecar(t, coordinator);
  const session = new SessionClient(raw);
  tokenOf(await session.ask('enqueue', commands.enqueue()));
  for (const [leave, left] of [
    [false, 1],
    [true, 0],
  ] as const) {
    const [waiting = 0] = session.send(commands.enqueue({ ticket: `t${leave}`, ...wholeMinute }));
    assert.deepEqual(await session.ask('cancel', commands.cancel(waiting, leave)), { cancelled: true });
    const error = failureIn(expecting('error', await session.reply(waiting)));
    assert.deepEqual([error.code, error.reason], ['CANCELLED', 'CANCELLED']);
    assert.deepEqual(await session.ask('cancel', commands.cancel(waiting)), { cancelled: false });
    assert.equal((await client.admin.explainKey('q', 'k')).waitingCallers, left);
    if (left > 0) await session.ask('dequeue', commands.dequeue(0n, { holder: { $case: 'ticket', value: 'tfalse' } }));
  }
});

test('the id of an open command is refused to a second one; after the answer it may be used again', async (t) => {
  const { raw } = await startSidecar(t, localCoordinator(t));
  const session = new SessionClient(raw);
  const token = tokenOf(await session.ask('enqueue', commands.enqueue()));
  const [waiting = 0] = session.send(commands.enqueue(wholeMinute));
  const other = { id: session.nextId(), call: commands.enqueue({ key: 'other' }) };
  session.stream.write({ commands: [other, { id: waiting, call: commands.dequeue(token) }] });
  const error = failureIn(expecting('error', await session.reply(waiting)));
  assert.equal(error.code, 'INVALID_ARGUMENT');
  assert.equal(error.fields[0]?.field, 'commands[1].id');
  tokenOf(expecting('enqueue', await session.reply(other.id)));
  session.forget(waiting);
  await session.ask('dequeue', commands.dequeue(token));
  tokenOf(expecting('enqueue', await session.reply(waiting)));
  session.forget(waiting);
  session.stream.write({ commands: [{ id: waiting, call: commands.enqueue({ key: 'again' }) }] });
  tokenOf(expecting('enqueue', await session.reply(waiting)));
});

test('a command without a call, or with a wrong field, is refused alone', async (t) => {
  const { raw } = await startSidecar(t, localCoordinator(t));
  const session = new SessionClient(raw);
  const id = session.nextId();
  session.stream.write({
    commands: [
      { id: id + 1_000, call: undefined },
      { id: id + 1_001, call: commands.enqueue({ queue: '', key: '' }) },
      { id: id + 1_002, call: commands.enqueue() },
    ],
  });
  const unknown = failureIn(expecting('error', await session.reply(id + 1_000)));
  assert.deepEqual([unknown.code, unknown.fields[0]?.field], ['INVALID_ARGUMENT', 'commands[0].call']);
  const wrong = failureIn(expecting('error', await session.reply(id + 1_001)));
  assert.deepEqual(
    wrong.fields.map(({ field }) => field),
    ['queue', 'key'],
  );
  tokenOf(expecting('enqueue', await session.reply(id + 1_002)));
});

test('hello says who asks, from the next command on; before it the peer does', async (t) => {
  const { raw, client } = await startSidecar(t, localCoordinator(t));
  const session = new SessionClient(raw);
  const ids = session.send(
    commands.enqueue({ key: 'before' }),
    commands.hello({ consumerId: 'worker', sessionId: 's', ttl: seconds(1) }),
    commands.enqueue({ key: 'after' }),
    commands.enqueue({ key: 'said', consumerId: 'me' }),
  );
  await Promise.all(ids.map((id) => session.reply(id)));
  const [, hello = 0] = ids;
  const { sessionId, ttl, turns, turnCount } = expecting('hello', await session.reply(hello));
  assert.deepEqual([sessionId, ttl, turns, turnCount], ['s', seconds(1), [], 0]);
  const holderOf = async (key: string) => (await client.admin.explainKey('q', key)).holder?.consumerId;
  assert.match((await holderOf('before')) ?? '', /^127\.0\.0\.1:\d+$/);
  assert.equal(await holderOf('after'), 'worker');
  assert.equal(await holderOf('said'), 'me');
});

test('hello says who asks, though its answer waits for the disk', async (t) => {
  const fake = new FakeSession();
  const answers: (() => void)[] = [];
  const consumers: string[] = [];
  fake.hello = (_, reply) => {
    answers.push(() => reply.answer({ sessionId: 's', ttl: 1_000, turns: [], turnCount: 0 }));
  };
  fake.enQueue = ({ consumerId }, reply) => {
    consumers.push(consumerId);
    reply.answer(blocked);
    for (const answer of answers.splice(0)) answer();
    return undefined;
  };
  const { raw } = await startSidecar(t, fake.coordinator());
  const session = new SessionClient(raw);
  const ids = session.send(commands.hello({ consumerId: 'worker' }), commands.enqueue());
  await Promise.all(ids.map((id) => session.reply(id)));
  assert.deepEqual(consumers, ['worker']);
});

test('a second hello is refused, and the first one stays', async (t) => {
  const { raw, client } = await startSidecar(t, localCoordinator(t));
  const session = new SessionClient(raw);
  const { sessionId } = await session.ask('hello', commands.hello({ consumerId: 'first' }));
  assert.notEqual(sessionId, '', 'the server made one');
  const error = failureIn(await session.ask('error', commands.hello({ consumerId: 'second' })));
  assert.equal(error.code, 'INVALID_ARGUMENT');
  const wrong = failureIn(await session.ask('error', commands.hello({ ttl: seconds(0.001) })));
  assert.equal(wrong.fields[0]?.field, 'ttl');
  await session.ask('enqueue', commands.enqueue());
  assert.equal((await client.admin.explainKey('q', 'k')).holder?.consumerId, 'first');
});

test('a stream with the same session takes the turns back, and the older one ends with SESSION_REPLACED', async (t) => {
  const { raw } = await startSidecar(t, localCoordinator(t));
  const older = new SessionClient(raw);
  const newer = new SessionClient(raw);
  const other = new SessionClient(raw);
  await other.ask('hello', commands.hello({ sessionId: 'other' }));
  await older.ask('hello', commands.hello({ sessionId: 's' }));
  const token = tokenOf(await older.ask('enqueue', commands.enqueue()));
  older.send(commands.enqueue(wholeMinute));
  const { turns, turnCount } = await newer.ask('hello', commands.hello({ sessionId: 's' }));
  assert.deepEqual([turns, turnCount], [[{ queue: 'q', key: 'k', token }], 1]);
  const error = await failureOf(older.failed());
  assert.deepEqual([error.code, error.reason, error.types], ['ABORTED', 'SESSION_REPLACED', ['ErrorInfo']]);
  assert.match(error.message, /"s"/);
  assert.deepEqual(await newer.ask('dequeue', commands.dequeue(token)), { promoted: false, waiting: 0 });
  await other.ask('cancel', commands.cancel(0));
});

test('what happens to a turn of the stream is told unasked, with its queue and key', async (t) => {
  const coordinator = localCoordinator(t);
  const { raw } = await startSidecar(t, coordinator);
  const session = new SessionClient(raw);
  await session.ask('hello', commands.hello());
  const token = tokenOf(await session.ask('enqueue', commands.enqueue()));
  await coordinator.admin.ask('evictHolder', { queue: 'q', key: 'k' });
  await session.ask('cancel', commands.cancel(0));
  const [notice, ...more] = session.notices;
  assert.deepEqual([more.length, notice?.kind, notice?.cause], [0, 1, 2]);
  assert.deepEqual([notice?.turn?.queue, notice?.turn?.key, notice?.turn?.token], ['q', 'k', token]);
});

test('no more than limits.open_commands wait; those that need not wait are run', async (t) => {
  const limits = { openCommands: 2 };
  const { raw } = await startSidecar(t, localCoordinator(t, { limits }), { limits });
  const session = new SessionClient(raw);
  const token = tokenOf(await session.ask('enqueue', commands.enqueue()));
  const waits = session.send(commands.acquire(wholeMinute), commands.acquire(wholeMinute));
  const error = failureIn(await session.ask('error', commands.acquire(wholeMinute)));
  assert.deepEqual([error.code, error.reason, error.metadata['limit']], ['RESOURCE_EXHAUSTED', 'LIMIT', '2']);
  assert.equal(error.quota[0]?.subject, 'open_commands');
  await session.ask('dequeue', commands.dequeue(token));
  await session.ask('acquire', commands.acquire());
  await session.ask('cancel', commands.cancel(waits[0] ?? 0));
  const [again = 0] = session.send(commands.acquire(wholeMinute));
  await session.ask('cancel', commands.cancel(again));
});

test('no more than limits.sessions are open', async (t) => {
  const limits = { sessions: 1 };
  const { raw } = await startSidecar(t, localCoordinator(t, { limits }), { limits });
  const first = new SessionClient(raw);
  await first.ask('cancel', commands.cancel(0));
  const error = await failureOf(new SessionClient(raw).failed());
  assert.deepEqual([error.code, error.reason, error.quota[0]?.subject], ['RESOURCE_EXHAUSTED', 'LIMIT', 'sessions']);
  first.stream.end();
  assert.equal(await first.ended, undefined);
  await new SessionClient(raw).ask('cancel', commands.cancel(0));
});

test('a throw inside one command answers that command with INTERNAL, and nothing else suffers', async (t) => {
  const session = new FakeSession();
  session.enQueue = ({ key }, reply) => {
    if (key === 'throws') throw new Error('inside');
    // A turn that cannot be written.
    if (key === 'unwritable') assert.equal(reply.answer({ decision: 'accept', turn: bad, ticket: undefined }), false);
    else reply.answer(blocked);
    return undefined;
  };
  const bad = {
    ...given,
    get lease(): number {
      throw new Error('while it is written');
    },
  };
  const { raw, log, failures } = await startSidecar(t, session.coordinator());
  const client = new SessionClient(raw);
  const ids = client.send(...['a', 'throws', 'b', 'unwritable', 'c'].map((key) => commands.enqueue({ key })));
  const outcomes = await Promise.all(ids.map((id) => client.reply(id)));
  assert.deepEqual(
    outcomes.map(({ $case }) => $case),
    ['enqueue', 'error', 'enqueue', 'error', 'enqueue'],
  );
  for (const [index, said] of [
    [1, /inside/],
    [3, /while it is written/],
  ] as const) {
    const { value } = outcomes[index] ?? assert.fail();
    const error = failureIn(Status.decode(Status.encode(value as Status).finish()));
    assert.deepEqual([error.code, error.reason], ['INTERNAL', 'INTERNAL']);
    const line = log.find(({ fields }) => fields['id'] === error.metadata['id']);
    assert.match(String(line?.fields['err']), said);
  }
  assert.deepEqual([log.length, failures()], [2, 2]);
});

test('S633: what goes no further counts as any other command, and once', async (t) => {
  const fake = new FakeSession();
  let counted = 0;
  let isTooFast = false;
  const tooFast = { kind: 'limit', subject: 'pace', limit: 1, description: 'too fast', retryAfter: 5 } as const;
  Object.assign(fake, {
    wasted: () => {
      counted += 1;
      return isTooFast ? tooFast : undefined;
    },
    enQueue: () => ({ cancel: () => undefined }),
  });
  const { raw } = await startSidecar(t, fake.coordinator());
  const session = new SessionClient(raw);
  const wrong = [
    commands.enqueue({ queue: '' }),
    { $case: 'hello', value: { consumerId: 'x'.repeat(1_000), sessionId: '', ttl: undefined } } as const,
  ];
  for (const call of wrong) {
    const before = counted;
    const [id = 0] = session.send(call);
    const outcome = await session.reply(id);
    assert.equal(counted, before + 1);
    assert.notEqual(outcome.$case === 'error' ? failureIn(outcome.value).reason : '', 'LIMIT');
  }
  const cancels = async () => {
    const sent = session.send(commands.cancel(0), commands.cancel(0));
    return Promise.all(sent.map(async (id) => (await session.reply(id)).$case));
  };
  const [waiting = 0] = session.send(commands.enqueue(wholeMinute));
  let before = counted;
  assert.deepEqual(await cancels(), ['cancel', 'cancel']);
  assert.equal(counted, before + 1, 'a client asks so whether its stream lives');
  before = counted;
  const [cancelling = 0] = session.send(commands.cancel(waiting));
  assert.deepEqual(await session.reply(cancelling), { $case: 'cancel', value: { cancelled: true } });
  assert.equal(counted, before, 'what ends a command was counted with that command');
  isTooFast = true;
  for (const call of wrong) {
    const [id = 0] = session.send(call);
    const outcome = await session.reply(id);
    assert.ok(outcome.$case === 'error');
    assert.equal(failureIn(outcome.value).reason, 'LIMIT');
  }
  assert.equal((await cancels()).at(-1), 'error');
});
