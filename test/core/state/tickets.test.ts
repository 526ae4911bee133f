import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BUILT_IN_POLICY } from '../../../src/core/contract/policy.js';
import { Lane, Queue } from '../../../src/core/state/records.js';
import { DispatchTickets } from '../../../src/core/state/tickets.js';
import { ResultLedger } from '../../../src/core/structures/retention-cache.js';

const lane = new Lane(new Queue('q', BUILT_IN_POLICY, true, new ResultLedger(0), 0), 'k');

describe('tickets of dispatch', () => {
  it('are the same for the same consumer and id', () => {
    const tickets = new DispatchTickets();
    const ticket = tickets.open('worker', 't');
    tickets.addTurn(ticket, 1, lane);
    assert.equal(tickets.open('worker', 't'), ticket);
  });

  /** Pairs that read the same when they are merely joined, with or without their lengths. */
  const lookalikes: readonly (readonly [readonly [string, string], readonly [string, string]])[] = [
    [
      ['ab', 'c'],
      ['a', 'bc'],
    ],
    [
      ['', 'ab'],
      ['ab', ''],
    ],
    [
      ['1:a', 'b'],
      ['1', ':ab'],
    ],
    [
      ['a', '1:b'],
      ['a1:', 'b'],
    ],
    [
      ['1', '2:x'],
      ['12', ':x'],
    ],
  ];
  for (const [[consumer, id], [otherConsumer, otherId]] of lookalikes) {
    it(`belong to their consumer: "${consumer}" with "${id}" is not "${otherConsumer}" with "${otherId}"`, () => {
      const tickets = new DispatchTickets();
      const one = tickets.open(consumer, id);
      tickets.addTurn(one, 1, lane);
      assert.notEqual(tickets.open(otherConsumer, otherId), one);
      assert.equal(tickets.open(consumer, id), one);
    });
  }

  it('are known exactly as long as they stand for something', () => {
    const tickets = new DispatchTickets();
    const ticket = tickets.open('worker', 't');
    assert.equal(tickets.size, 0, 'asking for it keeps nothing');
    tickets.addTurn(ticket, 1, lane);
    tickets.addTurn(ticket, 2, lane);
    tickets.endTurn(ticket, 1);
    tickets.endTurn(ticket, 1);
    assert.equal(tickets.open('worker', 't'), ticket);
    tickets.endTurn(ticket, 2);
    assert.equal(tickets.size, 0);
    tickets.addTurn(ticket, 3, lane);
    assert.equal(tickets.open('worker', 't'), ticket, 'who held it meanwhile goes on with it');
  });
});
