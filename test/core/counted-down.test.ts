/** What takes a place under a limit gives it back, exactly once; what is over takes nothing of what came after it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Limits } from '../../src/coordinator.js';
import { QUEUE } from '../support/builders.js';
import { full } from './refused.js';
import { okay, runThrough, Stage } from './stage.js';

const ROUNDS = 3;
const TICKET_TTL = 10_000;

describe('limits.dependencies', () => {
  const limits: Partial<Limits> = { dependencies: 2 };
  const after = (item: string) => [1, 2].map((each) => ({ queue: QUEUE, itemId: `${each} before ${item}` }));
  const waiting = (stage: Stage, itemId: string) =>
    stage.submit('submitter', [{ key: 'w', itemId, after: after(itemId), afterUnknown: 'wait' }]);

  const ends: readonly (readonly [what: string, act: (stage: Stage) => void])[] = [
    [
      'what it waits for is done',
      (stage) => {
        for (const { itemId } of after('first')) {
          stage.submit('submitter', [{ key: itemId, itemId }]);
          const [delivery] = stage.acquire('worker').value.deliveries;
          assert.equal(delivery?.turn.key, itemId);
          stage.ack('worker', { key: itemId, token: delivery.turn.token });
        }
      },
    ],
    [
      'it is discarded',
      (stage) => {
        const scan = okay(stage.core.discardWaiting({ queue: QUEUE, key: 'w', itemIds: [] }, 10, () => stage.now));
        assert.equal(scan && runThrough(scan).done, 1);
        stage.carry();
      },
    ],
  ];
  for (const [what, act] of ends) {
    it(`has its places again when ${what}`, () => {
      const stage = new Stage({ limits });
      assert.equal(waiting(stage, 'first').value.results[0]?.decision, 'accept');
      full(waiting(stage, 'over').refusal, 'limit', 'dependencies', 2);
      act(stage);
      assert.equal(waiting(stage, 'second').value.results[0]?.decision, 'accept');
      full(waiting(stage, 'over').refusal, 'limit', 'dependencies', 2);
    });
  }

  it('a batch that waits for nothing new finds room when all places are taken', () => {
    const stage = new Stage({ limits });
    waiting(stage, 'first');
    const again = { key: 'w', itemId: 'first', after: after('first'), afterUnknown: 'wait' } as const;
    assert.deepEqual(
      stage.submit('submitter', [again, { key: 'x' }]).value.results.map(({ decision }) => decision),
      ['accept', 'accept'],
    );
  });
});

describe('limits.sessions', () => {
  it('a session whose turns have ended has its place again as soon as its stream breaks', () => {
    const stage = new Stage({ limits: { sessions: 1 } });
    for (let round = 0; round < ROUNDS; round++) {
      const stream = okay(stage.open());
      assert.equal(stage.hello('worker', stream, `s${round}`, 60_000).value.turnCount, 0);
      stage.on = stream;
      const { value } = stage.enQueue('worker');
      assert.ok(value.decision === 'accept');
      stage.deQueue('worker', { holder: { token: value.turn.token } });
      stage.on = undefined;
      stage.core.closeStream(stream, stage.now);
    }
  });
});

describe('a turn that could not be delivered', () => {
  it('and is over meanwhile takes nothing from the one who holds the key now', () => {
    const stage = new Stage();
    const first = stage.enQueue('first').value;
    assert.ok(first.decision === 'accept');
    stage.deQueue('first', { holder: { token: first.turn.token } });
    const second = stage.enQueue('second').value;
    assert.ok(second.decision === 'accept');
    stage.core.undeliverable([first.turn], stage.now);
    stage.carry();
    assert.equal(stage.enQueue('third', { wait: 0 }).value.decision, 'block');
    stage.renew('second', second.turn.token);
    assert.equal(stage.told.at(-1), 'second ALIVE');
  });

  it('takes nothing from the one who came back with its ticket, and so has it', () => {
    const stage = new Stage();
    const asked = { ticket: 't', ticketTtl: TICKET_TTL, lease: 3 * TICKET_TTL };
    const { value } = stage.enQueue('first', asked);
    assert.ok(value.decision === 'accept');
    assert.equal(stage.enQueue('first', asked).value.decision, 'accept');
    stage.core.undeliverable([value.turn], stage.now);
    stage.carry();
    stage.pass(2 * TICKET_TTL);
    stage.renew('first', value.turn.token);
    assert.equal(stage.told.at(-1), 'first ALIVE');
  });
});
