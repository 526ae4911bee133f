/** S626: many leaders that speak at once have their turns beside everything else of the process. */
import assert from 'node:assert/strict';
import { on } from 'node:events';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { credentials } from '@grpc/grpc-js';
import type { LeadResponse } from '../../../src/grpc/gen/keyturn/v1/leader.js';
import * as wire from '../../../src/grpc/gen/keyturn/v1/leader.js';
import { LeadTurns } from '../../../src/grpc/services/lead-turns.js';
import { LocalCoordinator } from '../../../src/local/coordinator.js';
import { settings } from '../../support/builders.js';
import { FakeClock } from '../../support/fake-clock.js';
import { OWN_CONNECTION, startSidecar } from '../../support/sidecar.js';

test('a turn of the loop carries out 64 commands of all streams, those of each in order, 16 of each by turns', async () => {
  const turns = new LeadTurns();
  const done: string[] = [];
  for (const stream of ['a', 'b', 'c']) {
    let at = 0;
    turns.begin({
      next() {
        done.push(`${stream}${at}`);
        at += 1;
        return at < 100;
      },
    });
  }
  const numbers = (from: number, count: number) => Array.from({ length: count }, (_, at) => from + at);
  const some = (stream: string, from: number) => numbers(from, 16).map((at) => `${stream}${at}`);
  assert.deepEqual(
    done,
    ['a', 'a', 'a', 'a'].flatMap((stream, at) => some(stream, 16 * at)),
  );
  await nextTurn();
  assert.deepEqual(done.slice(64), [...some('a', 64), ...some('b', 0), ...some('c', 0), ...some('a', 80).slice(0, 16)]);
  for (let left = 3; left > 0; left -= 1) await nextTurn();
  assert.equal(done.length, 300);
  for (const stream of ['a', 'b', 'c']) {
    const its = done.filter((one) => one.startsWith(stream));
    assert.deepEqual(
      its,
      numbers(0, 100).map((at) => `${stream}${at}`),
    );
  }
});

test('a message of a thousand commands holds up no other call, and an end behind two of them is heard after them', async (t) => {
  const local = new LocalCoordinator(settings(), { clock: new FakeClock() });
  const sidecar = await startSidecar(t, local);
  const client = new wire.LeaderServiceClient(sidecar.address, credentials.createInsecure(), OWN_CONNECTION);
  t.after(() => client.close());
  const order: string[] = [];
  const { leaders } = local;
  const stand = leaders.stand.bind(leaders);
  let asked: Promise<void> | undefined;
  leaders.stand = (request, reply) => {
    asked ??= new Promise((resolve, reject) => {
      client.getLeader({ group: 'other' }, (error) => {
        order.push('answered');
        if (error) reject(error);
        else resolve();
      });
    });
    order.push(request.group);
    return stand(request, reply);
  };
  const call = client.lead();
  const news = on(call, 'data', { close: ['end'] });
  const times = { ttl: undefined, inaugurateTimeout: undefined, handOverTimeout: undefined };
  for (const first of [0, 1_000]) {
    const commands = Array.from({ length: 1_000 }, (_, at) => {
      const value = { group: `g${first + at}`, candidateId: 'a', ...times, metadata: new Map(), term: 0n };
      return { candidacy: first + at, command: { $case: 'stand' as const, value } };
    });
    call.write({ commands });
  }
  call.end();
  let told = 0;
  // What the call gives is of its own type.
  for await (const [response] of news) told += (response as LeadResponse).news.length;
  await asked;
  assert.ok(told >= 2_000, `${told} of them were told`);
  const groups = order.filter((one) => one !== 'answered');
  assert.deepEqual(
    [...new Set(groups)],
    Array.from({ length: 2_000 }, (_, at) => `g${at}`),
  );
  assert.ok(order.indexOf('answered') < order.indexOf('g1999'), 'the call waited for all of them');
});
