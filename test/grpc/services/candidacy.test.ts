/** What a candidacy repeats while its home is away. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Refusal, Reply, ReportRequest } from '../../../src/coordinator.js';
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
