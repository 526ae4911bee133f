/** The client's `lead` against the real coordinator: careers, hand-overs, failures, and the clock of the client. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { HandOverAsked, type LeaderCareer, type Leadership, type LeadOptions, TermLostError } from '@keyturn/client';
import { LocalCoordinator } from '../../../src/local/coordinator.js';
import { settings } from '../../support/builders.js';
import { type Deferred, deferred } from '../../support/deferred.js';
import { FakeClock } from '../../support/fake-clock.js';
import { startSidecar } from '../../support/sidecar.js';

async function served(t: TestContext) {
  const leaderships: Leadership[] = [];
  // Before the sidecar ends: else each would wait for it.
  t.after(() => Promise.all(leaderships.map((one) => one.stop({ timeout: 0 }))));
  const clock = new FakeClock();
  const coordinator = new LocalCoordinator(settings(), { clock });
  clock.advance(3_600_000);
  const sidecar = await startSidecar(t, coordinator);
  const told: string[] = [];
  const waiting = new Map<string, Deferred<void>>();
  const tell = (line: string) => {
    told.push(line);
    waiting.get(line)?.resolve();
  };
  /** Until this was told. */
  const until = (line: string) => {
    if (told.includes(line)) return Promise.resolve();
    const wait = waiting.get(line) ?? deferred();
    waiting.set(line, wait);
    return wait.promise;
  };
  const lead = (name: string, career: Partial<LeaderCareer> = {}, options: LeadOptions = {}) => {
    const whole: LeaderCareer = {
      inaugurate: (_term, { candidateId, how, state }) =>
        tell(`${name} inaugurated after ${candidateId || 'nobody'} ${how} "${Buffer.from(state).toString()}"`),
      execute: (_term, signal) => {
        tell(`${name} executes`);
        return new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            const why = signal.reason;
            tell(
              `${name} stops: ${why instanceof HandOverAsked ? why.asked : why instanceof TermLostError ? why.loss : why}`,
            );
            resolve();
          });
        });
      },
      handOver: () => `left by ${name}`,
      ...career,
    };
    const leadership = sidecar.client.lead('g', whole, { candidateId: name, ...options });
    leaderships.push(leadership);
    return leadership;
  };
  return { ...sidecar, clock, coordinator, told, tell, until, lead };
}

test('a leader that is stopped hands its state over, and the next one begins after it', async (t) => {
  const { lead, until, told } = await served(t);
  const a = lead('a');
  await until('a executes');
  const b = lead('b');
  await a.stop();
  await until('b executes');
  assert.deepEqual(told, [
    'a inaugurated after nobody none ""',
    'a executes',
    'a stops: yield',
    'b inaugurated after a handed_over "left by a"',
    'b executes',
  ]);
  assert.equal(a.term, undefined);
  assert.ok(b.term !== undefined);
});

test('an operator asks for the hand-over, and the one who was asked leads again later', async (t) => {
  const { lead, until, client } = await served(t);
  lead('a');
  await until('a executes');
  lead('b');
  assert.equal((await client.admin.yieldLeader('g'))?.candidateId, 'a');
  await until('a stops: operator');
  await until('b executes');
  assert.equal((await client.admin.getLeader('g')).leader?.candidateId, 'b');
  await client.admin.yieldLeader('g');
  await until('a inaugurated after b handed_over "left by b"');
});

test('execute that returns is a yield, with its hand-over', async (t) => {
  const { lead, until, tell } = await served(t);
  lead('a', { execute: () => tell('a executes'), handOver: (reason) => `by ${reason}` }, { once: true });
  await until('a executes');
  lead('b');
  await until('b inaugurated after a handed_over "by yield"');
});

test('a worker whose execute throws, and one whose inauguration throws, are passed over', async (t) => {
  const { lead, until, told, tell } = await served(t);
  const [a, b] = [deferred(), deferred()];
  lead('a', {
    execute: async () => {
      tell('a executes');
      await a.promise;
      throw new Error('broken');
    },
  });
  await until('a executes');
  lead('b', {
    inaugurate: async () => {
      tell('b is asked');
      await b.promise;
      throw new Error('no database');
    },
  });
  lead('c');
  a.resolve();
  await until('b is asked');
  b.resolve();
  await until('c executes');
  assert.deepEqual(
    told.filter((line) => !line.startsWith('a')),
    ['b is asked', 'c inaugurated after a handed_over "left by a"', 'c executes'],
  );
});

test('a leader that the sidecar counts out is told, and stands again when it has stopped', async (t) => {
  const { lead, until, clock } = await served(t);
  lead('a');
  await until('a executes');
  lead('b');
  clock.advance(5_000);
  await until('a stops: ttl');
  await until('b inaugurated after a lost ""');
});

test('a leader to which nothing is confirmed is told so by its own clock, less the margin', async (t) => {
  const { lead, until, server } = await served(t);
  const a = lead('a', {}, { ttl: 600 });
  await until('a executes');
  assert.ok(a.term !== undefined);
  server.forceStop();
  await until('a stops: unreachable');
  assert.equal(a.term, undefined);
});

test('a leader that is to show its progress and does not is told that its term is lost', async (t) => {
  const { lead, until } = await served(t);
  lead('a', {}, { ttl: 600, progress: 'manual' });
  await until('a executes');
  await until('a stops: unreachable');
});

test('a candidacy that the sidecar refuses ends with its error', async (t) => {
  const { client } = await served(t);
  const leadership = client.lead('not a name', { execute: () => undefined });
  await assert.rejects(leadership.ended, /stand\.group: "not a name".*is not allowed/);
});

test('a worker that leads once is not chosen again, and leaves neither a term nor a place behind', async (t) => {
  const { lead, client } = await served(t);
  for (const execute of [async () => undefined, async () => Promise.reject(new Error('broken'))]) {
    await lead('a', { execute }, { once: true }).ended;
    const { leader, candidates } = await client.admin.getLeader('g');
    assert.deepEqual([leader, candidates], [undefined, 0]);
  }
});

test('S406: leaders that hand over as much as may be, all at one moment, are all heard', async (t) => {
  const { client } = await served(t);
  const begun: Promise<void>[] = [];
  // More than the sidecar takes in one message.
  const leaders = Array.from({ length: 80 }, (_, number) => {
    const { promise, resolve } = deferred();
    begun.push(promise);
    return client.lead(`g${number}`, {
      execute: (_term, signal) => {
        resolve();
        return new Promise((ends) => signal.addEventListener('abort', () => ends()));
      },
      handOver: () => Buffer.alloc(65_536, number),
    });
  });
  await Promise.all(begun);
  await Promise.all(leaders.map((one) => one.stop()));
  for (const number of leaders.keys()) {
    const { promise, resolve } = deferred<Uint8Array>();
    const next = client.lead(`g${number}`, {
      inaugurate: (_term, { state }) => resolve(state),
      execute: () => undefined,
    });
    assert.deepEqual(Buffer.from(await promise), Buffer.alloc(65_536, number));
    await next.stop();
  }
});

test('S406: candidates that say as much of themselves as may be, all at one moment, all stand', async (t) => {
  const { client } = await served(t);
  const metadata = { about: 'x'.repeat(8_000) };
  const standing: Promise<void>[] = [];
  const candidates = Array.from({ length: 600 }, () => {
    const { promise, resolve } = deferred();
    standing.push(promise);
    return client.lead('g', { standing: () => resolve(), execute: () => resolve() }, { metadata });
  });
  await Promise.all(standing);
  await Promise.all(candidates.map((one) => one.stop({ timeout: 0 })));
});
