import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Effect } from '../../../src/core/state/effects.js';
import { Outbox } from '../../../src/core/state/outbox.js';

function effect(at: number): Effect {
  const nothing = { token: undefined, itemId: undefined, consumerId: undefined, detail: undefined };
  return { kind: 'event', event: { kind: 'arrival', at, queue: 'q', key: 'k', ...nothing } };
}

function takeAll(outbox: Outbox, seen: (at: number) => void = () => {}): number[] {
  const taken: number[] = [];
  for (let next = outbox.shift(); next !== undefined; next = outbox.shift()) {
    if (next.kind !== 'event') continue;
    taken.push(next.event.at);
    seen(next.event.at);
  }
  return taken;
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}

describe('the outbox', () => {
  it('gives effects out in order, each once', () => {
    const outbox = new Outbox();
    for (const at of range(5)) outbox.push(effect(at), false);
    assert.deepEqual(takeAll(outbox), range(5));
    assert.equal(outbox.shift(), undefined);
  });

  it('knows whether it is empty', () => {
    const outbox = new Outbox();
    assert.ok(outbox.isEmpty);
    outbox.push(effect(1), false);
    assert.ok(!outbox.isEmpty);
    takeAll(outbox);
    assert.ok(outbox.isEmpty);
  });

  it('puts what is pushed while others are taken behind them', () => {
    const outbox = new Outbox();
    for (const at of [0, 1, 2]) outbox.push(effect(at), false);
    const taken = takeAll(outbox, (at) => {
      if (at < 3) outbox.push(effect(at + 10), false);
    });
    assert.deepEqual(taken, [0, 1, 2, 10, 11, 12]);
  });

  it('works again and again, across steps large and small', () => {
    const outbox = new Outbox();
    for (const count of [1, 5_000, 3, 0, 1_024, 1_025, 2]) {
      for (const at of range(count)) outbox.push(effect(at), false);
      assert.deepEqual(takeAll(outbox), range(count));
    }
  });

  it('goes on in the middle', () => {
    const outbox = new Outbox();
    for (const at of range(3)) outbox.push(effect(at), false);
    outbox.shift();
    outbox.push(effect(3), false);
    assert.deepEqual(takeAll(outbox), [1, 2, 3]);
    assert.ok(outbox.isEmpty);
  });
});
