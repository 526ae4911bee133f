import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KeyExplanation } from '../../src/coordinator.js';
import { LANE_STATES, type LaneState } from '../../src/core/contract/model.js';
import type { Case } from './table/cases.js';
import { EXPECTED } from './table/expected.js';
import { LANE_EVENTS, LANE_TABLE, type LaneEvent, type Move } from './table/lane-table.js';
import { type Given, type Scene, setScene } from './table/scene.js';
import { TRIGGERS } from './table/triggers.js';

/** What can be known of the key, but for how much of its lease is left. */
function known({ holder, ...rest }: KeyExplanation) {
  return { ...rest, holder: holder && { ...holder, leaseLeft: undefined } };
}

function play(state: LaneState, event: LaneEvent, expected: Case): void {
  const scene = setScene(state, event, expected.given);
  const { stage, queue } = scene;
  const before = stage.explain(queue);
  TRIGGERS[event](scene);
  const after = stage.explain(queue);
  const seen = { to: after.state, told: stage.told.toSorted(), line: after.line.map(({ id }) => id) };
  assert.deepEqual(seen, { to: expected.to, told: expected.told.toSorted(), line: expected.line });
  if (expected.unchanged) assert.deepEqual(known(after), known(before));
  holderFits(scene, after);
}

/** A lane has a holder in PROCESS and BLOCK and in no other state, and the counts by state say the same. */
function holderFits({ stage, queue }: Scene, after: KeyExplanation): void {
  const holds = isHeld(after.state);
  assert.equal(after.holder !== undefined, holds);
  const view = stage.queue(queue);
  assert.equal(view?.liveTurns, holds ? 1 : 0);
  assert.deepEqual(
    LANE_STATES.map((state) => [state, view?.states[state]]),
    LANE_STATES.map((state) => [state, state === after.state ? 1 : 0]),
  );
  assert.equal((view?.waitingCallers ?? 0) + (view?.waitingItems ?? 0), after.line.length);
}

function nameOf({ given, to }: Case): string {
  const { holder, line, queue, paused, startupHold }: Given = given;
  const parts = [
    holder && `held by ${holder}`,
    line && `${line.join(' and ')} in line`,
    queue && queue !== 'plain' && `policy ${queue}`,
    paused && 'paused',
    startupHold && 'after a start',
  ];
  return `${parts.filter(Boolean).join(', ') || 'nothing else'} -> ${to}`;
}

/** A wait that ends without a take-over is a wait that ends: the entry leaves by that. */
const IS_ANOTHER_EVENT = new Set(['READY × take_over']);

/** What a cell of the table says, that its cases may not contradict. */
function contradicts(state: LaneState, event: LaneEvent, { to }: Case): string | undefined {
  const move = LANE_TABLE[state][event];
  if (IS_ANOTHER_EVENT.has(`${state} × ${event}`)) return undefined;
  if (STAYS.has(move) && to !== state) return `${move} leaves the state as it is`;
  if (isHeld(state) && !isHeld(to) && !ENDS_TURNS.has(move)) return `${move} ends no turn`;
  if (state === 'PARK' && to !== 'PARK' && move !== 'unpark') return `${move} does not let a parked key go on`;
  return undefined;
}

const STAYS: ReadonlySet<Move> = new Set(['nothing', 'stale', 'extend']);
const ENDS_TURNS: ReadonlySet<Move> = new Set(['end_turn', 'end_or_leave']);

function isHeld(state: LaneState): boolean {
  return state === 'PROCESS' || state === 'BLOCK';
}

describe('the lane machine', () => {
  it('is played as its table says', () => {
    const wrong = LANE_STATES.flatMap((state) =>
      LANE_EVENTS.flatMap((event) =>
        EXPECTED[state][event].flatMap((one) => {
          const why = contradicts(state, event, one);
          return why === undefined ? [] : [`${state} × ${event}, ${nameOf(one)}: ${why}`];
        }),
      ),
    );
    assert.deepEqual(wrong, []);
  });

  it('has a cell for each event in each state', () => {
    assert.equal(LANE_STATES.length * LANE_EVENTS.length, 126);
    for (const state of LANE_STATES) {
      assert.deepEqual(Object.keys(EXPECTED[state]).sort(), [...LANE_EVENTS].sort());
      for (const event of LANE_EVENTS) assert.ok(EXPECTED[state][event].length > 0, `${state} × ${event} is tested`);
    }
  });

  for (const state of LANE_STATES) {
    for (const event of LANE_EVENTS) {
      const cases = EXPECTED[state][event];
      it(`${state} × ${event}: ${cases.map(nameOf).join('; ')}`, async (t) => {
        for (const one of cases) await t.test(nameOf(one), () => play(state, event, one));
      });
    }
  }
});
