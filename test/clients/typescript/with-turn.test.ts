import { deepStrictEqual, match, rejects, strictEqual } from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type EnQueueAnswer, KeyturnError, TurnLostError } from '@keyturn/client';
import { type HeldKey, type WithTurnOptions, withTurn } from '#client/consume/with-turn';
import { deferred } from '../../support/deferred.js';
import { away, FakeTransport, inTurn, settled, turnOf, watched } from './fake-transport.js';

const ACCEPT: EnQueueAnswer = { decision: 'accept', turn: turnOf('k', 7), ticket: 'id-1' };
const BLOCK: EnQueueAnswer = { decision: 'block', ahead: 2, retryAfter: undefined, ticket: 'id-1' };
const GIVEN_BACK = { promoted: false, waiting: 0 };

function accepting(): FakeTransport {
  const transport = new FakeTransport();
  transport.answers.enQueue = inTurn(transport, ACCEPT);
  transport.answers.deQueue = async () => GIVEN_BACK;
  return transport;
}

/** The handler runs until its signal aborts, then ends as the test says. */
function untilAborted<T>(end: (turn: HeldKey) => T): (turn: HeldKey) => Promise<T> {
  return (turn) =>
    new Promise((resolve, reject) => {
      turn.signal.addEventListener('abort', () => {
        try {
          resolve(end(turn));
        } catch (error) {
          reject(error);
        }
      });
    });
}

describe('withTurn', () => {
  it('asks with a ticket of its own, runs the handler, gives the turn back', async () => {
    const transport = accepting();
    let got: HeldKey | undefined;
    const outcome = await withTurn(transport.base, 'q', 'k', {}, (turn) => {
      got = turn;
      return 'value';
    });
    deepStrictEqual(outcome, { status: 'done', value: 'value', token: 7 });
    deepStrictEqual([got?.queue, got?.key, got?.token, got?.attempt], ['q', 'k', 7, 0]);
    deepStrictEqual(transport.names, ['enQueue', 'deQueue']);
    strictEqual(transport.callsOf('enQueue')[0]?.ticket, 'id-1');
    deepStrictEqual(transport.callsOf('deQueue'), [{ queue: 'q', key: 'k', token: 7, result: undefined }]);
    strictEqual(transport.held[0]?.isReleased, true);
  });

  it('holds the turn until its end was noted', async () => {
    const transport = accepting();
    delete transport.answers.deQueue;
    const outcome = watched(withTurn(transport.base, 'q', 'k', {}, () => 1));
    await settled();
    deepStrictEqual([transport.names.at(-1), transport.held[0]?.isReleased], ['deQueue', false]);
    await transport.pass(11_000);
    deepStrictEqual([outcome.state, transport.held[0]?.isReleased], ['rejected', true]);
  });

  it('passes on what the queue shall remember', async () => {
    const transport = accepting();
    const options: WithTurnOptions<number> = { idempotencyKey: 'i', result: (value) => new Uint8Array([value]) };
    await withTurn(transport.base, 'q', 'k', options, () => 3);
    strictEqual(transport.callsOf('enQueue')[0]?.idempotencyKey, 'i');
    deepStrictEqual(transport.callsOf('deQueue')[0]?.result, new Uint8Array([3]));
  });

  it('tells why it was declined', async () => {
    const transport = accepting();
    const said = { survivorId: 's', retryAfter: 5, result: new Uint8Array([1]), reason: 'waiter_exists' } as const;
    transport.answers.enQueue = async () => ({ decision: 'decline', ...said });
    deepStrictEqual(await withTurn(transport.base, 'q', 'k', {}, never), { status: 'declined', ...said });
    deepStrictEqual(transport.names, ['enQueue']);
  });

  describe('waiting', () => {
    it('takes no ticket when it does not wait, so nothing is to be given up', async () => {
      const transport = accepting();
      transport.answers.enQueue = async () => BLOCK;
      const outcome = await withTurn(transport.base, 'q', 'k', { wait: 0 }, never);
      deepStrictEqual(outcome, { status: 'blocked', ahead: 2, retryAfter: undefined });
      deepStrictEqual(
        transport.sent.map(({ call }) => 'ticket' in call && call.ticket),
        [undefined],
      );
    });

    it('gives its place up when the wait ends', async () => {
      const transport = accepting();
      transport.answers.enQueue = async () => ({ ...BLOCK, ahead: 0, retryAfter: 250 });
      deepStrictEqual(await withTurn(transport.base, 'q', 'k', {}, never), {
        status: 'blocked',
        ahead: 0,
        retryAfter: 250,
      });
      deepStrictEqual(transport.callsOf('deQueue'), [{ queue: 'q', key: 'k', ticket: 'id-1', abandoned: true }]);
    });

    it('splits a wait that is longer than a call may wait, in one place', async () => {
      const transport = accepting();
      transport.answers.enQueue = (call) =>
        new Promise((resolve) => void transport.clock.after(call.wait ?? 0, () => resolve(BLOCK)));
      const outcome = watched(withTurn(transport.base, 'q', 'k', { wait: 700_000 }, never));
      await transport.pass(700_000, 700);
      deepStrictEqual(
        transport.callsOf('enQueue').map(({ wait, ticket }) => [wait, ticket]),
        [
          [300_000, 'id-1'],
          [300_000, 'id-1'],
          [100_000, 'id-1'],
        ],
      );
      strictEqual(outcome.state, 'resolved');
    });

    it('asks again in the same place when the sidecar is away, and counts from the first that may have got the turn', async () => {
      const transport = accepting();
      transport.answers.enQueue = inTurn(transport, away(), away(), ACCEPT);
      const outcome = withTurn(transport.base, 'q', 'k', { wait: 5_000 }, () => 1);
      await transport.pass(1_000);
      strictEqual((await outcome).status, 'done');
      deepStrictEqual(
        transport.callsOf('enQueue').map(({ ticket }) => ticket),
        ['id-1', 'id-1', 'id-1'],
      );
      strictEqual(transport.held[0]?.askedAt, 0);
    });

    it('ends when the sidecar stays away for the wait', async () => {
      const transport = accepting();
      transport.answers.enQueue = async () => {
        throw away();
      };
      const outcome = watched(withTurn(transport.base, 'q', 'k', { wait: 5_000 }, never));
      await transport.pass(4_000);
      strictEqual(outcome.state, 'open');
      await transport.pass(10_000);
      await rejects(outcome.promise, { code: 'UNAVAILABLE' });
    });

    it('ends at once when the sidecar refuses', async () => {
      const transport = accepting();
      transport.answers.enQueue = inTurn(transport, new KeyturnError('bad key', 'INVALID_ARGUMENT', 'BAD_REQUEST'));
      await rejects(withTurn(transport.base, 'q', '', {}, never), { code: 'INVALID_ARGUMENT' });
    });

    it('leaves the line when the caller aborts', async () => {
      const transport = accepting();
      delete transport.answers.enQueue;
      const controller = new AbortController();
      const outcome = watched(withTurn(transport.base, 'q', 'k', { wait: 5_000, signal: controller.signal }, never));
      await settled();
      const reason = new Error('changed my mind');
      controller.abort(reason);
      await rejects(outcome.promise, reason);
      const [enQueue, deQueue] = transport.sent;
      deepStrictEqual([enQueue?.settings?.leave, enQueue?.settings?.signal], [true, controller.signal]);
      deepStrictEqual(deQueue?.call, { queue: 'q', key: 'k', ticket: 'id-1', abandoned: true });
    });

    it('gives a turn back that comes when the caller has aborted', async () => {
      const transport = accepting();
      const controller = new AbortController();
      transport.answers.enQueue = async () => {
        controller.abort(new Error('too late'));
        return ACCEPT;
      };
      await rejects(withTurn(transport.base, 'q', 'k', { signal: controller.signal }, never), /too late/);
      deepStrictEqual(transport.callsOf('deQueue'), [{ queue: 'q', key: 'k', token: 7, abandoned: true }]);
    });

    it('asks nothing when the caller has aborted before', async () => {
      const transport = accepting();
      await rejects(withTurn(transport.base, 'q', 'k', { signal: AbortSignal.abort(new Error('no')) }, never), /no/);
      deepStrictEqual(transport.names, []);
    });
  });

  describe('the handler', () => {
    it('throws: the turn is abandoned, the error goes on', async () => {
      const transport = accepting();
      const error = new Error('broken');
      await rejects(
        withTurn(transport.base, 'q', 'k', {}, () => {
          throw error;
        }),
        error,
      );
      deepStrictEqual(transport.callsOf('deQueue'), [{ queue: 'q', key: 'k', token: 7, abandoned: true }]);
    });

    it('is told when the turn is lost, and what it returns then does not count', async () => {
      const transport = accepting();
      const outcome = watched(
        withTurn(
          transport.base,
          'q',
          'k',
          {},
          untilAborted(() => 'finished all the same'),
        ),
      );
      await settled();
      const loss = transport.held[0]?.lose('evicted');
      await rejects(outcome.promise, loss);
      deepStrictEqual(transport.names, ['enQueue']);
    });

    it('is waited for when the turn is lost', async () => {
      const transport = accepting();
      const end = deferred();
      const outcome = watched(withTurn(transport.base, 'q', 'k', {}, () => end.promise));
      await settled();
      transport.held[0]?.lose('lease_expired');
      await settled();
      strictEqual(outcome.state, 'open');
      end.resolve();
      await rejects(outcome.promise, (error) => error instanceof TurnLostError && error.loss === 'lease_expired');
    });

    it('may throw something else when the turn is lost: both are told', async () => {
      const transport = accepting();
      const handler = untilAborted(() => {
        throw new Error('the disk is full');
      });
      const outcome = watched(withTurn(transport.base, 'q', 'k', {}, handler));
      await settled();
      transport.held[0]?.lose('unreachable');
      await rejects(outcome.promise, (error) => {
        match(String(error), /TurnLostError: lost: unreachable; the handler ended with: the disk is full/);
        return true;
      });
    });

    it('is told when the caller aborts; the turn was its own, so its end counts', async () => {
      const transport = accepting();
      const controller = new AbortController();
      const { signal } = controller;
      const outcome = withTurn(
        transport.base,
        'q',
        'k',
        { signal },
        untilAborted((turn) => turn.signal.reason),
      );
      await settled();
      controller.abort('enough');
      deepStrictEqual(await outcome, { status: 'done', value: 'enough', token: 7 });
    });

    it('is told when maxHold is over', async () => {
      const transport = accepting();
      const handler = untilAborted((turn) => turn.signal.throwIfAborted());
      const outcome = watched(withTurn(transport.base, 'q', 'k', { maxHold: 400 }, handler));
      await transport.pass(399);
      strictEqual(outcome.state, 'open');
      await transport.pass(2);
      await rejects(outcome.promise, { name: 'TimeoutError' });
      strictEqual(transport.callsOf('deQueue')[0]?.abandoned, true);
    });

    it('is not started for a turn that is lost already', async () => {
      const transport = accepting();
      const hold = transport.hold.bind(transport);
      transport.hold = (turn, askedAt) => {
        const held = hold(turn, askedAt);
        transport.held[0]?.lose('unreachable');
        return held;
      };
      let hasRun = false;
      const outcome = withTurn(transport.base, 'q', 'k', {}, () => {
        hasRun = true;
      });
      await rejects(outcome, { name: 'TurnLostError', loss: 'unreachable' });
      strictEqual(hasRun, false);
    });
  });

  describe('the end of the turn', () => {
    it('is told again when the answer was lost', async () => {
      const transport = accepting();
      transport.answers.deQueue = inTurn(transport, away(), GIVEN_BACK);
      const outcome = withTurn(transport.base, 'q', 'k', {}, () => 1);
      await transport.pass(500);
      strictEqual((await outcome).status, 'done');
    });

    it('comes too late: not done', async () => {
      const transport = accepting();
      transport.answers.deQueue = inTurn(transport, new TurnLostError('lost', 'taken_over'));
      await rejects(
        withTurn(transport.base, 'q', 'k', {}, () => 1),
        { name: 'TurnLostError', loss: 'taken_over' },
      );
    });

    it('cannot be told: not done either, and it does not hang', async () => {
      const transport = accepting();
      transport.answers.deQueue = async () => {
        throw away();
      };
      const outcome = watched(withTurn(transport.base, 'q', 'k', {}, () => 1));
      await transport.pass(20_000);
      await rejects(outcome.promise, { code: 'UNAVAILABLE' });
    });
  });

  describe('in strict order', () => {
    it('waits in the line of the key, is never declined', async () => {
      const transport = accepting();
      transport.answers.acquire = inTurn(transport, { deliveries: [{ turn: turnOf('k', 9), items: [] }] });
      const outcome = await withTurn(transport.base, 'q', 'k', { order: 'strict', lease: 500 }, () => 1);
      deepStrictEqual(outcome, { status: 'done', value: 1, token: 9 });
      const acquire = { queues: ['q'], key: 'k', ticket: 'id-1', wait: 3_000, lease: 500, consumerId: undefined };
      deepStrictEqual(transport.callsOf('acquire'), [acquire]);
      deepStrictEqual(transport.callsOf('deQueue')[0]?.token, 9);
    });

    it('gives its place up when the wait ends', async () => {
      const transport = accepting();
      transport.answers.acquire = (call) =>
        new Promise((resolve) => void transport.clock.after(call.wait ?? 0, () => resolve({ deliveries: [] })));
      const outcome = withTurn(transport.base, 'q', 'k', { order: 'strict', wait: 1_000 }, never);
      await transport.pass(1_100);
      deepStrictEqual(await outcome, { status: 'blocked', ahead: undefined, retryAfter: undefined });
      strictEqual(transport.callsOf('deQueue')[0]?.ticket, 'id-1');
    });
  });

  const WRONG: readonly (readonly [WithTurnOptions, RegExp])[] = [
    [{ wait: -1 }, /^KeyturnError: wait is -1; allowed is a number from 0 to Infinity$/],
    [{ wait: Number.NaN }, /^KeyturnError: wait is NaN/],
    [{ lease: 99 }, /^KeyturnError: lease is 99; allowed is a number from 100 to 86400000$/],
    [{ maxHold: 0 }, /^KeyturnError: maxHold is 0/],
    [{ order: 'strict', idempotencyKey: 'i' }, /^KeyturnError: idempotencyKey is "i"; with order "strict"/],
  ];
  for (const [options, error] of WRONG) {
    it(`refuses ${JSON.stringify(options)}`, async () => {
      const transport = accepting();
      await rejects(withTurn(transport.base, 'q', 'k', options, never), error);
      deepStrictEqual(transport.names, []);
    });
  }
});

function never(): never {
  throw new Error('the handler must not run');
}
