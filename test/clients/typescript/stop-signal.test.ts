import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import { follow } from '#client/time/follow';
import { StopSignal } from '#client/turns/stop-signal';
import { FakeHeld, turnOf } from './fake-transport.js';

describe('the signal of a handler', () => {
  const held = () => new FakeHeld(turnOf('k', 1), 0);

  it('aborts with the turn, before and after somebody looked at it', () => {
    const [early, late] = [held(), held()];
    const [first, second] = [new StopSignal(early), new StopSignal(late)];
    const { signal } = first;
    deepStrictEqual([signal.aborted, first.signal === signal], [false, true]);
    const losses = [early.lose('evicted'), late.lose('evicted')];
    deepStrictEqual([signal.reason, second.signal.reason], losses);
  });

  it('aborts when it is called, before and after somebody looked at it; the first reason counts', () => {
    const [first, second] = [new StopSignal(held()), new StopSignal(held())];
    const { signal } = first;
    for (const stop of [first, second]) {
      stop.abort('one');
      stop.abort('two');
    }
    deepStrictEqual([signal.reason, second.signal.reason], ['one', 'one']);
  });

  it('aborts with others', () => {
    const controller = new AbortController();
    const stop = new StopSignal(held(), [undefined, controller.signal]);
    const { signal } = stop;
    controller.abort('enough');
    strictEqual(signal.reason, 'enough');
    strictEqual(new StopSignal(held(), [controller.signal]).signal.reason, 'enough');
  });

  it('follows nobody when the handler has ended', () => {
    const controller = new AbortController();
    const [first, second] = [new StopSignal(held(), [controller.signal]), new StopSignal(held(), [controller.signal])];
    const { signal } = first;
    for (const stop of [first, second]) stop.end();
    const { signal: late } = second;
    controller.abort('too late');
    deepStrictEqual([signal.aborted, late.aborted], [false, false]);
  });
});

describe('a signal that many follow', () => {
  it('has one listener, and none when nobody follows it any more', () => {
    const controller = new AbortController();
    const { signal } = controller;
    const stops = Array.from({ length: 100 }, () => new StopSignal(new FakeHeld(turnOf('k', 1), 0), [signal]));
    for (const stop of stops) strictEqual(stop.signal.aborted, false);
    strictEqual(getEventListeners(signal, 'abort').length, 1);
    for (const stop of stops) stop.end();
    strictEqual(getEventListeners(signal, 'abort').length, 0);
  });

  it('tells each once, in the order in which they came, but those that left meanwhile', () => {
    const controller = new AbortController();
    const told: number[] = [];
    const leave: (() => void)[] = [];
    follow(controller.signal, () => {
      told.push(1);
      leave[0]?.();
    });
    leave.push(follow(controller.signal, () => void told.push(2)));
    follow(controller.signal, () => void told.push(3));
    controller.abort();
    deepStrictEqual(told, [1, 3]);
  });
});
