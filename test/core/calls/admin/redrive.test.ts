/** Letters that wait for each other, redriven in steps. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NewItem } from '../../../../src/coordinator.js';
import { QUEUE } from '../../../support/builders.js';
import { recount } from '../../../support/recount.js';
import { Lives } from '../../durable/reborn.js';
import { atOnce, okay, Stage } from '../../stage.js';

const ALL = { queue: QUEUE, key: undefined, itemIds: [] };

/** An item in a lane of its own, after others. */
function after(itemId: string, ...ids: readonly string[]): Partial<NewItem> {
  return { itemId, key: itemId, after: ids.map((id) => ({ queue: QUEUE, itemId: id })) };
}

/** The token of this key, the first that is ready. */
function tokenOf(stage: Stage, key: string): number {
  const [delivery] = stage.acquire('w').value.deliveries;
  assert.equal(delivery?.turn.key, key);
  assert.ok(delivery !== undefined);
  return delivery.turn.token;
}

function dies(stage: Stage, key: string): void {
  stage.nack('w', { key, token: tokenOf(stage, key), kind: 'dead_letter' });
}

function stateOf(stage: Stage, key: string): string {
  return stage.explain(QUEUE, key).state;
}

/** Redrives all, a letter a step. */
function inSteps(stage: Stage) {
  const walk = okay(stage.core.redrive(ALL, 1, () => stage.now));
  assert.ok(walk !== undefined);
  return walk;
}

describe('redrive where a caller stands before older items of the key', () => {
  const y = (itemId: string, ...ids: readonly string[]) => ({ ...after(itemId, ...ids), key: 'y' });
  const cases: readonly (readonly [title: string, items: readonly Partial<NewItem>[]])[] = [
    ['through another key', [after('P'), y('K'), after('O', 'K', 'P'), y('L', 'O')]],
    ['within the key', [after('P'), y('K'), y('L', 'K', 'P'), y('M', 'L')]],
  ];
  for (const [title, items] of cases) {
    it(`S67: what waits goes behind them, so that nothing waits for itself: ${title}`, () => {
      const stage = new Stage({ queues: { [QUEUE]: { waitingPerKey: 'unlimited' } } });
      stage.enQueue('h', { key: 'y', wait: 0 });
      const caller = stage.enQueue('c', { key: 'y', wait: 3_600_000 });
      stage.submit('p', items);
      dies(stage, 'P');
      assert.equal(okay(atOnce(stage.core.redrive(ALL, 1_000, () => stage.now))), 3);
      const own = items.filter(({ key }) => key === 'y').map(({ itemId }) => itemId);
      assert.deepEqual(
        stage
          .explain(QUEUE, 'y')
          .line.slice(1)
          .map(({ id }) => id),
        own,
      );
      stage.ack('w', { key: 'P', token: tokenOf(stage, 'P') });
      endTurnOf(stage, 'h');
      assert.ok(caller.outcome !== undefined);
      endTurnOf(stage, 'c');
      for (const { key = '' } of items.slice(1)) stage.ack('w', { key, token: tokenOf(stage, key) });
    });
  }

  function endTurnOf(stage: Stage, name: string): void {
    const token = stage.explain(QUEUE, 'y').holder?.token ?? 0;
    stage.deQueue(name, { key: 'y', holder: { token } });
  }
});

describe('redrive in steps', () => {
  const begun = () => {
    const stage = new Stage();
    stage.submit('p', [{ itemId: 'a', key: 'a' }, after('b', 'a'), after('c', 'b')]);
    dies(stage, 'a');
    assert.equal(stage.core.inside.queues.get(QUEUE)?.deadLetters.size, 3);
    const walk = inSteps(stage);
    while (stateOf(stage, 'a') !== 'READY') assert.equal(walk.next().done, false);
    assert.equal(stage.core.inside.queues.get(QUEUE)?.deadLetters.size, 2);
    return { stage, walk };
  };

  it('waits for what went back before it, and is open', () => {
    const { stage, walk } = begun();
    let last = walk.next();
    while (last.done !== true) last = walk.next();
    assert.equal(last.value.done, 3);
    assert.deepEqual(
      ['a', 'b', 'c'].map((key) => stateOf(stage, key)),
      ['READY', 'DELAY', 'DELAY'],
    );
    recount(stage.core.inside, stage.now);
  });

  it('does not wait for what is done by then', () => {
    const { stage, walk } = begun();
    stage.ack('w', { key: 'a', token: tokenOf(stage, 'a') });
    while (walk.next().done !== true);
    assert.equal(stateOf(stage, 'b'), 'READY');
    assert.equal(stateOf(stage, 'c'), 'DELAY');
  });

  it('S630: stays where what it waits for died again', () => {
    const { stage, walk } = begun();
    dies(stage, 'a');
    let last = walk.next();
    while (last.done !== true) last = walk.next();
    assert.equal(last.value.done, 1);
    assert.equal(stage.core.inside.queues.get(QUEUE)?.deadLetters.size, 3);
    recount(stage.core.inside, stage.now);
  });

  it('S630: never goes back before what it waits for', () => {
    const stage = new Stage({ queues: { [QUEUE]: { waitingPerKey: 'unlimited' } } });
    // Keys x and y wait for each other, line by line: no order of the keys is right.
    const at = (key: string, itemId: string, ...ids: readonly string[]) => ({ ...after(itemId, ...ids), key });
    stage.submit('p', [at('z', 'a'), at('x', 'b', 'a'), at('y', 'c', 'b'), at('x', 'd', 'c'), at('y', 'e', 'd')]);
    dies(stage, 'z');
    assert.equal(stage.core.inside.queues.get(QUEUE)?.deadLetters.size, 5);
    const walk = inSteps(stage);
    while (walk.next().done !== true) {
      const left = [...(stage.core.inside.queues.get(QUEUE)?.deadLetters.keys() ?? [])];
      assert.ok(left.length === 5 || left.length === 4 || left.length === 0, `${left}`);
    }
    for (const key of ['z', 'x', 'y', 'x', 'y']) stage.ack('w', { key, token: tokenOf(stage, key) });
    recount(stage.core.inside, stage.now);
  });
});

describe('redrive of a key whose later letter waits for another key', () => {
  it('S67: takes that one along, and none of those between them', () => {
    const stage = new Stage({ queues: { [QUEUE]: { waitingPerKey: 'unlimited' } } });
    const between = Array.from({ length: 50 }, (_, at) => after(`m${at}`, 'a'));
    const last = { ...after('x2', 'y'), key: 'x' };
    stage.submit('p', [
      { itemId: 'a', key: 'a' },
      { ...after('x1', 'a'), key: 'x' },
      ...between,
      after('y', 'a'),
      last,
    ]);
    dies(stage, 'a');
    const letters = () => stage.core.inside.queues.get(QUEUE)?.deadLetters.size ?? 0;
    assert.equal(letters(), 54);
    const walk = inSteps(stage);
    const sizes: number[] = [];
    for (let before = letters(); walk.next().done !== true; before = letters()) sizes.push(before - letters());
    assert.deepEqual(sizes.filter((size) => size > 0).slice(0, 3), [1, 3, 1]);
    for (const key of ['a', 'x', 'y']) stage.ack('w', { key, token: tokenOf(stage, key) });
    assert.equal(stateOf(stage, 'x'), 'READY');
    recount(stage.core.inside, stage.now);
  });
});

describe('redrive while others have not heard of a death', () => {
  it('S630: what goes back hears of it no more, after a restart neither', () => {
    const lives = new Lives({ queues: { [QUEUE]: { durable: true } } });
    lives.stage.submit('p', [{ itemId: 'z', key: 'z' }]);
    // More than one step tells.
    lives.stage.submit(
      'p',
      Array.from({ length: 2_500 }, (_, at) => after(`x${at}`, 'z')),
    );
    lives.flush();
    dies(lives.stage, 'z');
    assert.equal(lives.stage.core.inside.dependencies.hasNews, true);
    const choice = { ...ALL, itemIds: ['z', 'x0', 'x1'] };
    assert.equal(okay(atOnce(lives.stage.core.redrive(choice, 1_000, () => lives.stage.now))), 3);
    lives.flush();
    lives.restart();
    lives.stage.pass(1_000);
    assert.deepEqual(
      ['z', 'x0', 'x1'].map((key) => stateOf(lives.stage, key)),
      ['READY', 'DELAY', 'DELAY'],
    );
    recount(lives.stage.core.inside, lives.stage.now);
  });
});

describe('redrive beside the backlog of another queue', () => {
  it('S630: waits for no ends but those of what its letters wait for', () => {
    const stage = new Stage({ queues: { [QUEUE]: {}, other: {} } });
    const waits = (at: number) => ({ itemId: `x${at}`, key: `x${at}`, after: [{ queue: 'other', itemId: 'z' }] });
    stage.submit('p', [{ itemId: 'a', key: 'a' }, after('b', 'a')]);
    dies(stage, 'a');
    stage.submit('p', [{ itemId: 'z', key: 'z' }], 'other');
    stage.submit(
      'p',
      Array.from({ length: 5_000 }, (_, at) => waits(at)),
      'other',
    );
    const [delivery] = stage.acquire('w', { queues: ['other'] }).value.deliveries;
    stage.nack('w', { queue: 'other', key: 'z', token: delivery?.turn.token ?? 0, kind: 'dead_letter' });
    assert.equal(stage.core.inside.dependencies.hasNews, true);
    const walk = okay(stage.core.redrive(ALL, 1_000, () => stage.now));
    assert.deepEqual(walk?.next().done, true);
    assert.equal(stage.core.inside.dependencies.hasNews, true);
    assert.deepEqual(
      ['a', 'b'].map((key) => stateOf(stage, key)),
      ['READY', 'DELAY'],
    );
  });
});

describe('a letter of a durable queue', () => {
  const DEATHS: Readonly<Record<string, (lives: Lives) => void>> = {
    'that was written while it waited': (lives) => {
      lives.stage.submit('p', [{ itemId: 'a', key: 'a' }, after('b', 'a')]);
      lives.flush();
      dies(lives.stage, 'a');
    },
    'that was written as a letter': ({ stage }) => {
      stage.submit('p', [{ itemId: 'a', key: 'a' }, after('b', 'a')]);
      dies(stage, 'a');
    },
    'that was one as it came': (lives) => {
      lives.stage.submit('p', [{ itemId: 'a', key: 'a' }]);
      dies(lives.stage, 'a');
      lives.flush();
      lives.stage.submit('p', [after('b', 'a')]);
    },
  };

  for (const [name, die] of Object.entries(DEATHS))
    it(`has what it came after, ${name}, however often it begins anew`, () => {
      const lives = new Lives();
      die(lives);
      for (let life = 0; life < 3; life++) {
        lives.flush();
        lives.restart();
      }
      assert.equal(okay(atOnce(lives.stage.core.redrive(ALL, 1_000, () => lives.stage.now))), 2);
      assert.equal(stateOf(lives.stage, 'b'), 'DELAY');
      lives.flush();
      lives.restart();
      recount(lives.stage.core.inside, lives.stage.now);
      assert.equal(stateOf(lives.stage, 'b'), 'DELAY');
      lives.stage.ack('w', { key: 'a', token: tokenOf(lives.stage, 'a') });
      assert.equal(stateOf(lives.stage, 'b'), 'READY');
    });
});
