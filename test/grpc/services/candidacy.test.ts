/** What a candidacy repeats while its home is away. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  CandidateView,
  Refusal,
  Reply,
  ReportAnswer,
  ReportRequest,
  StandRequest,
} from '../../../src/coordinator.js';
import { Candidacy } from '../../../src/grpc/services/candidacy.js';
import { FakeClock } from '../../support/fake-clock.js';
import { FakeCoordinator } from '../fake-coordinator.js';

const AWAY: Refusal = { kind: 'no_home', partition: 0, description: 'it is away', retryAfter: 250 };
const TERMS = { group: 'g', candidateId: 'a', ttl: 5_000, inaugurateTimeout: 30_000, handOverTimeout: 10_000 };

function away() {
  const clock = new FakeClock();
  const asked: string[] = [];
  const refuse = (what: string, reply: Reply<never>): undefined => {
    asked.push(what);
    reply.refuse(AWAY);
  };
  const leaders = {
    ...new FakeCoordinator().leaders,
    stand: (_request: unknown, reply: Reply<never>) => refuse('stand', reply),
    report: ({ report, term }: ReportRequest, reply: Reply<never>) => refuse(`${report.kind} ${term}`, reply),
    withdraw: (_request: unknown, reply: Reply<never>) => refuse('withdraw', reply),
  };
  const told: unknown[] = [];
  const host = {
    leaders,
    tell: (_candidacy: number, news: unknown) => void told.push(news),
    over: () => undefined,
    after: (ms: number, task: () => void) => clock.after(ms, task),
  };
  const terms = { ...TERMS, metadata: new Map<string, string>(), term: undefined };
  return { clock, asked, told, candidacy: new Candidacy(1, terms, { at: 1, by: 'stream' }, host) };
}

test('S396: what was said often while the home is away is repeated once, and not beyond the stream', () => {
  const { clock, asked, told, candidacy } = away();
  candidacy.ask();
  for (let times = 0; times < 500; times += 1) {
    candidacy.say(7, { kind: 'handed_over', state: new Uint8Array(65_536) });
    candidacy.say(7, { kind: 'inaugurated' });
    candidacy.say(7, { kind: 'alive' });
    candidacy.withdraw();
  }
  asked.length = 0;
  clock.advance(250);
  assert.deepEqual(asked.sort(), ['handed_over 7', 'inaugurated 7', 'stand', 'withdraw']);
  asked.length = 0;
  for (let term = 1; term <= 500; term += 1) candidacy.say(term, { kind: 'inaugurated' });
  asked.length = 0;
  clock.advance(250);
  assert.equal(asked.length, 100, 'and no more than so many different ones');
  assert.deepEqual(told, []);
  candidacy.close();
  asked.length = 0;
  clock.advance(10_000);
  assert.deepEqual(asked, []);
});

/** A home that answers reports at once, and candidates when the test says so. */
function atHome() {
  const clock = new FakeClock();
  const asked: string[] = [];
  const standing: Reply<CandidateView>[] = [];
  const questions: string[] = [];
  const leaders = {
    ...new FakeCoordinator().leaders,
    stand: ({ withdrawn = false }: StandRequest, reply: Reply<CandidateView>) => {
      standing.push(reply);
      questions.push(withdrawn ? 'stands withdrawn' : 'stands');
      return { cancel: () => void questions.push('given up') };
    },
    report: ({ report, term }: ReportRequest, reply: Reply<ReportAnswer>) => {
      asked.push(`${report.kind} ${term}`);
      reply.answer({ counted: false, cause: 'unknown' });
    },
    withdraw: (_request: unknown, reply: Reply<void>) => {
      asked.push('withdraw');
      reply.answer();
    },
  };
  const told: string[] = [];
  const host = {
    leaders,
    tell: (_candidacy: number, news: { $case: string } | undefined) => void told.push(news?.$case ?? ''),
    over: () => undefined,
    after: (ms: number, task: () => void) => clock.after(ms, task),
  };
  const terms = { ...TERMS, metadata: new Map<string, string>(), term: undefined };
  const candidacy = new Candidacy(1, terms, { at: 1, by: 'stream' }, host);
  candidacy.ask();
  /** @param question of which; unset: the last */
  const view = (view: CandidateView, question = -1) => void standing.at(question)?.answer(view);
  return { clock, asked, told, candidacy, view, questions: () => questions };
}

const NOTHING = new Uint8Array(0);
const NOBODY = { candidateId: '', term: 0, how: 'none' } as const;

test('S418: who withdrew asks as one who did, and what was asked before counts no more', () => {
  const { asked, told, candidacy, view, questions } = atHome();
  candidacy.withdraw();
  assert.deepEqual(questions(), ['stands', 'given up', 'stands withdrawn']);
  view({ at: 'inaugurate', term: 9, predecessor: NOBODY, state: NOTHING }, 0);
  assert.deepEqual(told, [], 'of a term that it got before its home heard that, its worker hears nothing');
  view({ at: 'withdrawn' });
  assert.deepEqual(asked, ['withdraw']);
});

test('S418: who withdrew and leads hears on of its term, and asks on as one who withdrew', () => {
  const { asked, told, candidacy, view, questions } = atHome();
  view({ at: 'inaugurate', term: 9, predecessor: NOBODY, state: NOTHING });
  candidacy.withdraw();
  candidacy.withdraw();
  view({ at: 'hand_over', term: 9, reason: 'yield', within: 10_000, deadline: 10_000 });
  assert.deepEqual(told, ['inaugurate', 'handOver']);
  assert.deepEqual(asked, ['withdraw', 'withdraw']);
  assert.deepEqual(questions(), ['stands', 'stands', 'given up', 'stands withdrawn', 'stands withdrawn']);
});

test('S396: a home that has not heard that a worker stopped hears it again', () => {
  const { clock, asked, told, candidacy, view } = atHome();
  view({ at: 'lost', term: 7, cause: 'ttl' });
  candidacy.say(7, { kind: 'stopped' });
  assert.deepEqual(told, ['lost', 'released']);
  clock.advance(2_000);
  assert.deepEqual(asked, ['stopped 7', 'stopped 7', 'stopped 7']);
  view({ at: 'standing', position: 1 });
  clock.advance(10_000);
  assert.equal(asked.length, 3);
  assert.deepEqual(told, ['lost', 'released', 'standing']);
});
