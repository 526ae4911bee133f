/** LeaderService on the wire, with the real coordinator: what a stranger sends and is told. */
import assert from 'node:assert/strict';
import { on, once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { type ClientDuplexStream, credentials, status } from '@grpc/grpc-js';
import {
  type Coordinator,
  type GroupView,
  LEADER_LIMITS,
  type LeaderKnows,
  type Reply,
} from '../../../src/coordinator.js';
import type { LeadCommand, LeadNews, LeadRequest, LeadResponse } from '../../../src/grpc/gen/keyturn/v1/leader.js';
import * as wire from '../../../src/grpc/gen/keyturn/v1/leader.js';
import { LocalCoordinator } from '../../../src/local/coordinator.js';
import { settings } from '../../support/builders.js';
import { FakeClock } from '../../support/fake-clock.js';
import { OWN_CONNECTION, startSidecar } from '../../support/sidecar.js';
import { FakeCoordinator } from '../fake-coordinator.js';

type Command = NonNullable<LeadCommand['command']>;

async function served(t: TestContext, coordinator?: Coordinator) {
  const clock = new FakeClock();
  const local = coordinator ?? new LocalCoordinator(settings(), { clock });
  // Long before, if ever, somebody led.
  clock.advance(60_000);
  const sidecar = await startSidecar(t, local);
  const client = new wire.LeaderServiceClient(sidecar.address, credentials.createInsecure(), OWN_CONNECTION);
  t.after(() => client.close());
  return { ...sidecar, client, clock };
}

/** A stream of a process, read one by one. */
class Stream {
  readonly #news: AsyncIterator<unknown[]>;
  #read: LeadNews[] = [];
  constructor(private readonly call: ClientDuplexStream<LeadRequest, LeadResponse>) {
    call.on('error', () => undefined);
    this.#news = on(call, 'data');
  }

  say(...commands: readonly (readonly [candidacy: number, command: Command | undefined])[]): void {
    this.call.write({ commands: commands.map(([candidacy, command]) => ({ candidacy, command })) });
  }

  async next(): Promise<LeadNews> {
    for (;;) {
      const news = this.#read.shift();
      if (news !== undefined) return news;
      const { value } = await this.#news.next();
      // What the call gives is of its own type.
      this.#read.push(...(value as [LeadResponse])[0].news);
    }
  }

  /** The next news, which is of this kind. */
  async the<K extends NonNullable<LeadNews['news']>['$case']>(kind: K, candidacy = 1) {
    const { news, candidacy: of } = await this.next();
    assert.equal(`${of} ${news?.$case}`, `${candidacy} ${kind}`);
    return news as Extract<NonNullable<LeadNews['news']>, { $case: K }>;
  }

  cancel(): void {
    this.call.cancel();
  }
}

function stand(change: Partial<wire.Stand> = {}): Command {
  const times = { ttl: undefined, inaugurateTimeout: undefined, handOverTimeout: undefined };
  return {
    $case: 'stand',
    value: { group: 'g', candidateId: 'a', ...times, metadata: new Map(), term: 0n, ...change },
  };
}

const inaugurated = (term: bigint): Command => ({ $case: 'inaugurated', value: { term } });
const alive = (term: bigint): Command => ({ $case: 'alive', value: { term } });
const handedOver = (term: bigint, state = ''): Command => ({
  $case: 'handedOver',
  value: { term, state: Buffer.from(state), lost: false },
});

test('two candidacies on one stream: the one leads, is asked to hand over, and the other one is told its state', async (t) => {
  const { client } = await served(t);
  const stream = new Stream(client.lead());
  stream.say([1, stand()], [2, stand({ candidateId: 'b', metadata: new Map([['host', 'h2']]) })]);
  const { term, predecessor } = (await stream.the('inaugurate')).value;
  assert.equal(predecessor?.how, wire.Succession.SUCCESSION_NONE);
  assert.equal((await stream.the('standing', 2)).value.position, 1);
  stream.say([1, inaugurated(term)], [1, alive(term)]);
  await stream.the('execute');
  assert.equal((await stream.the('kept')).value.ttl?.seconds, 5n);
  stream.say([1, { $case: 'yield', value: { term, failed: false } }]);
  const asked = (await stream.the('handOver')).value;
  assert.equal(asked.reason, wire.HandOverReason.HAND_OVER_REASON_YIELD);
  assert.equal(asked.within?.seconds, 10n);
  stream.say([1, handedOver(term, 'offset 7')]);
  await stream.the('released');
  const next = (await stream.the('inaugurate', 2)).value;
  assert.equal(Buffer.from(next.predecessor?.state ?? []).toString(), 'offset 7');
  assert.equal(next.predecessor?.candidateId, 'a');
  assert.ok(next.term > term);
  await stream.the('standing');
});

test('S633: a command that is wrong counts as any other, and is refused over the pace', async (t) => {
  const local = new LocalCoordinator(settings(), { clock: new FakeClock() });
  const tooFast = { kind: 'limit', subject: 'pace', limit: 1, description: 'too fast', retryAfter: 5 } as const;
  let counted = 0;
  Object.assign(local.leaders, {
    wasted: () => {
      counted += 1;
      return counted > 2 ? tooFast : undefined;
    },
  });
  const { client } = await served(t, local);
  const stream = new Stream(client.lead());
  stream.say([1, undefined], [2, stand({ group: '' })], [3, undefined]);
  for (const [candidacy, code] of [
    [1, status.INVALID_ARGUMENT],
    [2, status.INVALID_ARGUMENT],
    [3, status.RESOURCE_EXHAUSTED],
  ] as const)
    assert.equal((await stream.the('refused', candidacy)).value.code, code);
});

test('who leads is asked, watched, and asked to yield', async (t) => {
  const { client } = await served(t);
  const get = () =>
    new Promise<wire.GetLeaderResponse>((resolve, reject) => {
      client.getLeader({ group: 'g' }, (error, answer) => (error ? reject(error) : resolve(answer)));
    });
  const watching = client.watchLeader({ group: 'g' });
  t.after(() => watching.cancel());
  watching.on('error', () => undefined);
  const seen = on(watching, 'data');
  const next = async () => ((await seen.next()).value as [wire.WatchLeaderResponse])[0].now?.leader;
  assert.equal(await next(), undefined);
  const stream = new Stream(client.lead());
  stream.say([1, stand({ metadata: new Map([['host', 'h1']]) })]);
  const { term } = (await stream.the('inaugurate')).value;
  assert.equal((await next())?.phase, wire.LeaderPhase.LEADER_PHASE_INAUGURATING);
  stream.say([1, inaugurated(term)]);
  await stream.the('execute');
  const executing = await next();
  assert.equal(executing?.candidateId, 'a');
  assert.deepEqual(executing?.metadata, new Map([['host', 'h1']]));
  assert.deepEqual((await get()).leader, executing);
  client.yieldLeader({ group: 'g', reason: '' }, (error, answer) =>
    assert.deepEqual([error, answer?.candidateId], [null, 'a']),
  );
  assert.equal((await stream.the('handOver')).value.reason, wire.HandOverReason.HAND_OVER_REASON_OPERATOR);
});

test('a stream that breaks ends no term: who comes back with it goes on, and who comes too late is told', async (t) => {
  const { client, clock } = await served(t);
  const first = new Stream(client.lead());
  first.say([1, stand()]);
  const { term } = (await first.the('inaugurate')).value;
  first.say([1, inaugurated(term)]);
  await first.the('execute');
  first.cancel();
  const second = new Stream(client.lead());
  second.say([7, stand({ term })], [7, alive(term)]);
  const told = [await second.next(), await second.next()].map(({ news }) => news?.$case).sort();
  assert.deepEqual(told, ['execute', 'kept']);
  clock.advance(5_000);
  const { cause } = (await second.the('lost', 7)).value;
  assert.equal(cause, wire.TermLossCause.TERM_LOSS_CAUSE_TTL);
  second.say([7, handedOver(term)]);
  assert.deepEqual([await second.next(), await second.next()].map(({ news }) => news?.$case).sort(), [
    'inaugurate',
    'lost',
  ]);
});

test('a candidacy that is wrong is refused with the field, and the others go on', async (t) => {
  const { client } = await served(t);
  const stream = new Stream(client.lead());
  const cases: readonly (readonly [Command | undefined, RegExp])[] = [
    [undefined, /commands\[0\]\.command: missing/],
    [stand({ group: 'no spaces' }), /commands\[0\]\.stand\.group: "no spaces".* 1 to 128 characters/],
    [
      stand({ candidateId: '' }),
      /commands\[0\]\.stand\.candidate_id: an empty text is not allowed; allowed: 1 to 256 bytes/,
    ],
    [
      stand({ ttl: { seconds: 0n, nanos: 1 } }),
      /stand\.ttl: 0.000000001s is not allowed; allowed: 500 ms to 3600000 ms/,
    ],
    [stand({ metadata: new Map([['m', 'x'.repeat(8_192)]]) }), /stand\.metadata: 8193 bytes/],
    [
      stand({ ttl: { seconds: 3_600n, nanos: 1_000_000 } }),
      /stand\.ttl: 3600\.001s is not allowed; allowed: 500 ms to 3600000 ms/,
    ],
    [
      stand({ inaugurateTimeout: { seconds: 0n, nanos: 99_000_000 } }),
      /stand\.inaugurate_timeout: 0\.099s is not allowed; allowed: 100 ms to 86400000 ms/,
    ],
    [
      stand({ handOverTimeout: { seconds: 86_400n, nanos: 1_000_000 } }),
      /stand\.hand_over_timeout: 86400\.001s is not allowed; allowed: 100 ms to 86400000 ms/,
    ],
    [
      stand({ metadata: new Map(Array.from({ length: 65 }, (_, at) => [`m${at}`, ''])) }),
      /stand\.metadata: 65 entries is not allowed; allowed: up to 64/,
    ],
  ];
  for (const [command, wanted] of cases) {
    stream.say([3, command]);
    assert.match((await stream.the('refused', 3)).value.message, wanted);
  }
  stream.say([1, stand()]);
  await stream.the('inaugurate');
  stream.say([1, stand()]);
  assert.match((await stream.the('refused')).value.message, /commands\[0\]\.candidacy: 1 is open on this stream/);
});

test('a state that is too large ends the stream with its size and what is allowed', async (t) => {
  const { client } = await served(t);
  const call = client.lead();
  const ended = once(call, 'error');
  const stream = new Stream(call);
  stream.say([1, stand()]);
  const { term } = (await stream.the('inaugurate')).value;
  stream.say([1, handedOver(term, 'x'.repeat(65_537))]);
  assert.match(
    String((await ended)[0]),
    /commands\[0\]\.handed_over\.state: 65537 bytes is not allowed; allowed: up to 65536 bytes/,
  );
});

test('S396: who watches is told of the next leader, though the home was away in between', async (t) => {
  const coordinator = new FakeCoordinator();
  const asked: (LeaderKnows | undefined)[] = [];
  const says: ((reply: Reply<GroupView>) => void)[] = [
    (reply) => void reply.answer(view(4)),
    (reply) => reply.refuse({ kind: 'no_home', partition: 3, description: 'it moves', retryAfter: 1 }),
    (reply) => reply.refuse({ kind: 'store_unavailable', description: 'it is away', retryAfter: 1 }),
    (reply) => void reply.answer(view(8)),
  ];
  coordinator.leaders = {
    ...coordinator.leaders,
    awaitLeader: ({ knows }, reply) => {
      asked.push(knows);
      says.shift()?.(reply);
      return { cancel: () => undefined };
    },
  };
  const { client } = await served(t, coordinator);
  const call = client.watchLeader({ group: 'g' });
  call.on('error', () => undefined);
  const told: bigint[] = [];
  for await (const [{ now }] of on(call, 'data')) if (told.push(now.leader.term) === 2) break;
  call.cancel();
  assert.deepEqual(told, [4n, 8n]);
  assert.deepEqual(
    asked.map((knows) => knows?.term),
    [-1, 4, 4, 4, 8],
  );
});

test('S396: a watch that could not begin is refused', async (t) => {
  const coordinator = new FakeCoordinator();
  const refuse = (_request: unknown, reply: Reply<never>): undefined =>
    reply.refuse({ kind: 'no_home', partition: 3, description: 'nobody has claimed it', retryAfter: 1 }) as undefined;
  coordinator.leaders = { ...coordinator.leaders, awaitLeader: refuse };
  const { client } = await served(t, coordinator);
  const [error] = await once(client.watchLeader({ group: 'g' }), 'error');
  assert.match(String(error), /nobody has claimed it/);
});

function view(term: number): GroupView {
  const times = { since: 0, holdsFor: 5_000, holdsUntil: 5_000 };
  const leader = { candidateId: 'a', term, phase: 'executing', metadata: new Map(), ...times } as const;
  const predecessor = { candidateId: '', term: 0, how: 'none' } as const;
  return { group: 'g', leader, candidates: 0, predecessor, waits: undefined };
}

test('the stream ends with the requests, and with the server', async (t) => {
  const { client, server } = await served(t);
  const half = client.lead();
  half.on('data', () => undefined);
  half.end();
  await once(half, 'end');
  const call = client.lead();
  const ended = once(call, 'error');
  const stream = new Stream(call);
  stream.say([1, stand()]);
  await stream.the('inaugurate');
  await server.stop(1_000);
  assert.match(String((await ended)[0]), /draining/);
});

test('who was asked to hand over, for whom and when is written down, also by which peer', async (t) => {
  const { client, log } = await served(t);
  const stream = new Stream(client.lead());
  stream.say([1, stand()]);
  const { value } = await stream.the('inaugurate');
  const ask = (group: string) =>
    new Promise((resolve, reject) =>
      client.yieldLeader({ group, reason: '' }, (error, answer) => (error === null ? resolve(answer) : reject(error))),
    );
  await ask('g');
  await ask('nobody-here');
  const [line, ...others] = log.filter(({ message }) => message === 'a leader was asked to hand over');
  assert.deepEqual(others, []);
  const { peer, ...fields } = { peer: '', ...line?.fields };
  assert.deepEqual(fields, { group: 'g', candidateId: 'a', term: Number(value.term) });
  assert.match(peer, /^127\.0\.0\.1:\d+$/);
  stream.cancel();
});

test('one more candidacy than a stream may have is refused, and the others go on', async (t) => {
  const { client } = await served(t);
  const stream = new Stream(client.lead());
  const most = LEADER_LIMITS.candidaciesOfStream;
  for (let first = 1; first <= most; first += 1_000)
    stream.say(...Array.from({ length: 1_000 }, (_, at) => [first + at, stand({ group: `g${first + at}` })] as const));
  stream.say([most + 1, stand({ group: 'late' })]);
  for (;;) {
    const { news, candidacy } = await stream.next();
    if (news?.$case === 'refused') {
      assert.equal(candidacy, most + 1);
      assert.match(news.value.message, /no more than 10000 candidacies on one stream; open another one/);
      break;
    }
  }
  stream.say([7, { $case: 'withdraw', value: {} }]);
  stream.say([most + 2, stand({ group: 'later', ttl: { seconds: 1n, nanos: 0 } })]);
  for (let told = await stream.next(); told.candidacy !== most + 2; told = await stream.next());
});
