/** Calls about leaders over a link: nothing is lost on the way, and what breaks on the way is asked again. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type {
  CandidateView,
  GroupView,
  Leaders,
  ReportAnswer,
  ReportRequest,
  StandRequest,
  WithdrawRequest,
  YieldView,
} from '../../../src/coordinator.js';
import { LinkRequest } from '../../../src/grpc/gen/keyturn/peer/v1/peer.js';
import { Call } from '../../support/call.js';
import { FakeCoordinator } from '../fake-coordinator.js';
import { LinkStage } from './link-stage.js';

/** As objects that are written down are made. */
function record<T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> {
  return fc.record(model, { noNullPrototype: true }) as fc.Arbitrary<T>;
}

const phase = fc.constantFrom('inaugurating' as const, 'executing', 'handing_over', 'lost');
const cause = fc.constantFrom('ttl' as const, 'inaugurate_timeout', 'hand_over_timeout', 'unknown');
const reason = fc.constantFrom('yield' as const, 'operator', 'drain');
const term = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const ms = fc.integer({ min: 0, max: 2 ** 41 });
const id = fc.string({ minLength: 1, maxLength: 40 });
const group = fc.constantFrom('g', 'a.b/c:D_9-', 'g'.repeat(128));
const metadata = fc.array(fc.tuple(id, id), { maxLength: 4 }).map((entries) => new Map(entries));
const state = fc.uint8Array({ maxLength: 200 });
const predecessor = record({
  candidateId: id,
  term,
  how: fc.constantFrom('none' as const, 'handed_over', 'lost'),
});
const views: fc.Arbitrary<CandidateView> = fc.oneof(
  record({ at: fc.constant('standing' as const), position: fc.integer({ min: 1, max: 1_000 }) }),
  record({ at: fc.constant('inaugurate' as const), term, predecessor, state }),
  record({ at: fc.constant('execute' as const), term }),
  record({ at: fc.constant('hand_over' as const), term, reason, within: ms, deadline: ms }),
  record({ at: fc.constant('lost' as const), term, cause }),
  fc.constantFrom({ at: 'replaced' } as const, { at: 'withdrawn' } as const),
);
const at = fc.constantFrom('standing' as const, 'inaugurate', 'execute', 'hand_over', 'lost', 'replaced', 'withdrawn');
const stands = record({
  group,
  candidateId: id,
  ttl: fc.integer({ min: 500, max: 3_600_000 }),
  inaugurateTimeout: fc.integer({ min: 100, max: 86_400_000 }),
  handOverTimeout: fc.integer({ min: 100, max: 86_400_000 }),
  metadata,
  term: fc.option(term, { nil: undefined }),
  knows: fc.option(record({ at, number: fc.oneof(fc.constant(0), term) }), { nil: undefined }),
  withdrawn: fc.boolean(),
});
const reports: fc.Arbitrary<ReportRequest['report']> = fc.oneof(
  fc.constantFrom({ kind: 'inaugurated' } as const, { kind: 'alive' } as const, { kind: 'stopped' } as const),
  record({ kind: fc.constant('handed_over' as const), state: fc.uint8Array({ maxLength: 65_536, size: '+2' }) }),
  record({ kind: fc.constant('yield' as const), failed: fc.boolean() }),
);
const groups: fc.Arbitrary<GroupView> = record({
  group,
  leader: fc.option(record({ candidateId: id, term, phase, since: ms, metadata, holdsFor: ms, holdsUntil: ms }), {
    nil: undefined,
  }),
  candidates: fc.nat(1_000),
  predecessor,
  waits: fc.option(record({ why: id, until: fc.option(ms, { nil: undefined }) }), { nil: undefined }),
});

/** A home that says what it is told to, and what it was asked. */
class Home {
  readonly asked: unknown[] = [];
  says: unknown;
  readonly stage = new LinkStage();

  constructor() {
    const said = (request: unknown, reply: { answer(value: never): boolean }): undefined => {
      this.asked.push(request);
      reply.answer(this.says as never);
    };
    const home = new FakeCoordinator();
    home.leaders = { stand: said, report: said, withdraw: said, awaitLeader: said, yieldLeader: said };
    this.stage.homeNow = home;
  }

  get leaders(): Leaders {
    return this.stage.remote.leaders;
  }

  heard<A>(ask: (leaders: Leaders, reply: Call<A>) => unknown): A {
    const call = new Call<A>();
    ask(this.leaders, call);
    this.stage.settle();
    return call.value;
  }
}

describe('S395: what is asked about leaders, and what is answered, travels as it is', () => {
  const home = new Home();
  const younger = (at: number) => ({ at, by: 'stream' });

  it('a candidate', () => {
    const property = fc.property(stands, views, (request, view) => {
      home.says = view;
      const stamp = younger(performance.timeOrigin + performance.now() - 5_000);
      const told = home.heard<CandidateView>((leaders, reply) => leaders.stand({ ...request, stamp }, reply));
      assert.deepEqual(plain(told), plain(view));
      const { stamp: read, ...asked } = home.asked.at(-1) as StandRequest;
      assert.deepEqual(asked, request);
      assert.equal(read.by, stamp.by);
      assert.ok(Math.abs(read.at - stamp.at) < 1_000, 'its age is what counts');
    });
    fc.assert(property, { numRuns: 200 });
  });

  it('a report', () => {
    const answers: readonly ReportAnswer[] = [
      { counted: true, ttl: 5_000 },
      { counted: true, ttl: 0 },
      { counted: false, cause: 'hand_over_timeout' },
    ];
    const asks = record({ group, candidateId: fc.option(id, { nil: undefined }), term, report: reports });
    const property = fc.property(asks, fc.constantFrom(...answers), (request, answer) => {
      home.says = answer;
      const said = home.heard<ReportAnswer>((leaders, reply) => leaders.report(request, reply));
      assert.deepEqual(said, answer);
      const asked = home.asked.at(-1) as ReportRequest;
      assert.deepEqual({ ...asked, report: inHex(asked.report) }, { ...request, report: inHex(request.report) });
    });
    fc.assert(property, { numRuns: 100 });
  });

  it('a withdrawal', () => {
    home.says = undefined;
    const stamp = younger(performance.timeOrigin + performance.now() - 60_000);
    home.heard<void>((leaders, reply) => leaders.withdraw({ group: 'g', candidateId: 'a', stamp }, reply));
    const asked = home.asked.at(-1) as WithdrawRequest;
    assert.deepEqual([asked.group, asked.candidateId, asked.stamp.by], ['g', 'a', 'stream']);
    assert.ok(Math.abs(asked.stamp.at - stamp.at) < 1_000);
  });

  it('who leads, and what somebody knows of it', () => {
    const known = fc.option(
      record({
        term: fc.oneof(fc.constantFrom(-1, 0), fc.integer({ min: 1, max: 2 ** 52 })),
        phase: fc.option(phase, { nil: undefined }),
      }),
      { nil: undefined },
    );
    const property = fc.property(group, known, groups, (name, knows, view) => {
      home.says = view;
      const request = { group: name, knows };
      assert.deepEqual(
        home.heard<GroupView>((leaders, reply) => leaders.awaitLeader(request, reply)),
        view,
      );
      assert.deepEqual(home.asked.at(-1), request);
    });
    fc.assert(property, { numRuns: 200 });
  });

  it('the wish of an operator', () => {
    const views: readonly YieldView[] = [{ asked: undefined }, { asked: { candidateId: 'a', term: 2 ** 53 - 1 } }];
    for (const view of views) {
      home.says = view;
      assert.deepEqual(
        home.heard<YieldView>((leaders, reply) => leaders.yieldLeader('g', reply)),
        view,
      );
      assert.equal(home.asked.at(-1), 'g');
    }
  });

  it('what no client may say is refused by name, and asks nothing', () => {
    const asked = home.asked.length;
    const request: ReportRequest = {
      group: 'g',
      term: 1,
      report: { kind: 'handed_over', state: new Uint8Array(65_537) },
    };
    const call = new Call<ReportAnswer>();
    home.leaders.report(request, call);
    home.stage.settle();
    const { refusal } = call;
    assert.ok(refusal.kind === 'bad_request');
    assert.match(refusal.violations[0]?.field ?? '', /state/);
    assert.equal(home.asked.length, asked);
  });
});

const ROUND = { ttl: 5_000, inaugurateTimeout: 30_000, handOverTimeout: 10_000, metadata: new Map<string, string>() };

function standing(change: Partial<StandRequest> = {}): StandRequest {
  const stamp = { at: performance.timeOrigin + performance.now(), by: 'stream-a' };
  return { ...ROUND, group: 'g', candidateId: 'a', stamp, term: undefined, knows: undefined, ...change };
}

describe('S396: a link that breaks under a call about leaders', () => {
  it('is as if the call had not been sent: it may be asked again. What an operator wished may have been done', () => {
    const stage = new LinkStage();
    stage.small.down.isHeld = true;
    const [stood, watched] = [new Call<CandidateView>(), new Call<GroupView>()];
    const [reported, withdrawn, yielded] = [new Call<ReportAnswer>(), new Call<void>(), new Call<YieldView>()];
    const { leaders } = stage.remote;
    leaders.stand(standing(), stood);
    leaders.report({ group: 'g', term: 1, report: { kind: 'inaugurated' } }, reported);
    leaders.withdraw({ group: 'g', candidateId: 'a', stamp: standing().stamp }, withdrawn);
    leaders.awaitLeader({ group: 'g', knows: undefined }, watched);
    leaders.yieldLeader('g', yielded);
    stage.settle();
    stage.broken(4_000);
    const kinds = [stood, reported, withdrawn, watched, yielded].map(({ refusal }) => refusal.kind);
    assert.deepEqual(kinds, ['no_home', 'no_home', 'no_home', 'no_home', 'store_unavailable']);
  });

  it('makes a candidate absent at its home, and its next call present: it keeps its place', () => {
    const stage = new LinkStage();
    const { leaders } = stage.remote;
    // A sidecar that keeps nothing gives no term before the longest ttl has passed.
    stage.advance(10_000);
    const first = new Call<CandidateView>();
    leaders.stand(standing(), first);
    stage.settle();
    assert.equal(first.value.at, 'inaugurate');
    const other = (knows: StandRequest['knows']) => {
      const call = new Call<CandidateView>();
      const stamp = { ...standing().stamp, by: 'stream-b' };
      leaders.stand(standing({ candidateId: 'b', stamp, knows }), call);
      stage.settle();
      return call;
    };
    assert.deepEqual(other(undefined).value, { at: 'standing', position: 1 });
    const waits = other({ at: 'standing', number: 1 });
    assert.ok(waits.open);
    stage.broken(1_500);
    assert.equal(waits.refusal.kind, 'no_home');
    const seen = new Call<GroupView>();
    stage.home.leaders.awaitLeader({ group: 'g', knows: undefined }, seen);
    assert.equal(seen.value.candidates, 1, 'its place is kept');
    stage.advance(1_000);
    assert.ok(other({ at: 'standing', number: 1 }).open);
  });

  it('bytes of which one is another one never take the process down', () => {
    const property = fc.property(fc.nat(400), fc.integer({ min: 1, max: 255 }), fc.nat(5), (at, change, which) => {
      const stage = new LinkStage();
      let left = which;
      const send = stage.small.up.send.bind(stage.small.up);
      stage.small.up.send = (bytes, gone) => {
        const altered = Buffer.from(bytes);
        if (left-- === 0) altered[at % altered.length] = (altered[at % altered.length] ?? 0) ^ change;
        send(altered, gone);
      };
      const { leaders } = stage.remote;
      const calls = [new Call<CandidateView>(), new Call<ReportAnswer>(), new Call<GroupView>()] as const;
      leaders.stand(standing({ metadata: new Map([['host', 'one']]) }), calls[0]);
      stage.settle();
      leaders.report({ group: 'g', term: 7, report: { kind: 'handed_over', state: new Uint8Array(20) } }, calls[1]);
      stage.settle();
      leaders.awaitLeader({ group: 'g', knows: { term: 3, phase: 'lost' } }, calls[2]);
      stage.advance(5_000);
      const again = new Call<GroupView>();
      leaders.awaitLeader({ group: 'h', knows: undefined }, again);
      stage.advance(5_000);
      assert.ok(!again.open);
    });
    fc.assert(property, { numRuns: 40, seed: 7 });
  });
});

describe('many calls about leaders', () => {
  it('S397: signs of life that are said together travel in one message', () => {
    const stage = new LinkStage();
    const messages: number[] = [];
    const send = stage.small.up.send.bind(stage.small.up);
    stage.small.up.send = (bytes, gone) => {
      messages.push(LinkRequest.decode(bytes).calls.length);
      send(bytes, gone);
    };
    const { leaders } = stage.remote;
    const calls = Array.from({ length: 500 }, () => new Call<ReportAnswer>());
    for (const [number, call] of calls.entries())
      leaders.report({ group: `g${number}`, term: number + 1, report: { kind: 'alive' } }, call);
    stage.settle();
    assert.deepEqual(
      messages.filter((count) => count > 0),
      [500],
    );
    assert.ok(calls.every(({ value }) => !value.counted && value.cause === 'unknown'));
  });
});

function inHex(report: ReportRequest['report']): unknown {
  return 'state' in report ? { ...report, state: Buffer.from(report.state).toString('hex') } : report;
}

function plain(view: CandidateView): CandidateView {
  return 'state' in view ? { ...view, state: Buffer.from(view.state) } : view;
}
