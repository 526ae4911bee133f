/** Every pair of state and event, and the rule that each one stands for. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  NOT_OURS,
  type Ownership,
  type OwnershipEvent,
  type Sight,
  type Step,
  step,
} from '../../../src/cluster/partitions/ownership.js';
import { EACH_RANK } from '../../../src/cluster/partitions/wanted-homes.js';
import type { Guard } from '../../../src/cluster/store/cluster-store.js';

const GUARD: Guard = { partition: 3, owner: '7:x', epoch: 7, member: 'm', seq: 4, at: 0, floor: 9, format: 1 };

function sight(more: Partial<Sight> = {}): Sight {
  const nothing = { isOwnerLive: true, isMine: false, rank: undefined, mayClaim: false, isSucceeded: false };
  return { now: 1_000, guard: GUARD, ...nothing, ...more };
}

function seen(more: Partial<Sight> = {}): OwnershipEvent {
  return { kind: 'seen', sight: sight(more) };
}

const STATES: Readonly<Record<Ownership['at'], Ownership>> = {
  free: NOT_OURS,
  claiming: { at: 'claiming', isLapsed: false },
  loading: { at: 'loading' },
  open: { at: 'open' },
  handing_over: { at: 'handing_over', isLapsed: false },
  closed: { at: 'closed' },
  reclaiming: { at: 'reclaiming', isLapsed: false },
  dropping: { at: 'dropping' },
};

const EVENTS: Readonly<Record<OwnershipEvent['kind'], OwnershipEvent>> = {
  seen: seen(),
  lapsed: { kind: 'lapsed' },
  claimed: { kind: 'claimed' },
  not_claimed: { kind: 'not_claimed' },
  claim_unknown: { kind: 'claim_unknown' },
  loaded: { kind: 'loaded' },
  load_failed: { kind: 'load_failed' },
  hand_over: { kind: 'hand_over' },
  handed_over: { kind: 'handed_over' },
  called_off: { kind: 'called_off' },
  release_unknown: { kind: 'release_unknown' },
  reclaimed: { kind: 'reclaimed' },
  reclaim_lost: { kind: 'reclaim_lost' },
  reclaim_unknown: { kind: 'reclaim_unknown' },
  fenced: { kind: 'fenced' },
  dropped: { kind: 'dropped' },
};

/** A row is an event, a column a state: `-` nothing follows, `!` it cannot be told that, else what it is then and what is done. */
const TABLE = `
                | free | claiming            | loading               | open                    | handing_over            | closed                  | reclaiming              | dropping
seen            | -    | -                   | -                     | -                       | -                       | -                       | -                       | -
lapsed          | -    | claiming lapsed     | dropping + given_up   | closed + shut           | handing_over lapsed + shut | -                    | reclaiming lapsed       | -
claimed         | !    | loading + load      | !                     | !                       | !                       | !                       | !                       | !
not_claimed     | !    | free                | !                     | !                       | !                       | !                       | !                       | !
claim_unknown   | !    | free                | !                     | !                       | !                       | !                       | !                       | !
loaded          | !    | !                   | open + open           | !                       | !                       | !                       | !                       | -
load_failed     | !    | !                   | dropping + given_up   | !                       | !                       | !                       | !                       | -
hand_over       | -    | -                   | -                     | handing_over + hand_over | -                      | -                       | -                       | -
handed_over     | !    | !                   | !                     | !                       | dropping + handed_over  | !                       | !                       | -
called_off      | !    | !                   | !                     | !                       | open + reopen           | !                       | !                       | -
release_unknown | !    | !                   | !                     | !                       | dropping + handed_over  | !                       | !                       | -
reclaimed       | !    | !                   | !                     | !                       | !                       | !                       | open + reopen           | -
reclaim_lost    | !    | !                   | !                     | !                       | !                       | !                       | dropping + succeeded    | -
reclaim_unknown | !    | !                   | !                     | !                       | !                       | !                       | closed                  | -
fenced          | !    | !                   | dropping + succeeded  | dropping + succeeded    | dropping + succeeded    | dropping + succeeded    | dropping + succeeded    | -
dropped         | !    | !                   | !                     | !                       | !                       | !                       | !                       | free
`;

function cells(line: string): readonly string[] {
  return line.split('|').map((cell) => cell.trim());
}

function told({ state, action }: Step): string {
  const lapsed = 'isLapsed' in state && state.isLapsed ? ' lapsed' : '';
  const done = action === undefined ? '' : ` + ${action.do === 'drop' ? action.why : action.do}`;
  return `${state.at}${lapsed}${done}`;
}

describe('ownership of a partition', () => {
  const [head = '', ...lines] = TABLE.trim().split('\n');
  const columns = cells(` ${head}`).slice(1);

  it('has a cell for every state and every event', () => {
    assert.deepEqual([...columns].sort(), Object.keys(STATES).sort());
    assert.deepEqual(lines.map((line) => cells(line)[0]).sort(), Object.keys(EVENTS).sort());
  });

  for (const line of lines) {
    const [name = '', ...expected] = cells(line);
    for (const [at, want] of expected.entries()) {
      const column = columns[at] ?? '';
      it(`${column}, told ${name}: ${want}`, () => {
        const state = STATES[column as Ownership['at']];
        const event = EVENTS[name as OwnershipEvent['kind']];
        if (want === '!') return assert.throws(() => step(state, event), TypeError);
        const then = step(state, event);
        if (want === '-') assert.deepEqual(then, { state });
        else assert.equal(told(then), want);
      });
    }
  }

  it('what lapsed while something was under way is not open when that succeeds', () => {
    assert.equal(told(step({ at: 'claiming', isLapsed: true }, EVENTS.claimed)), 'free');
    assert.equal(told(step({ at: 'reclaiming', isLapsed: true }, EVENTS.reclaimed)), 'closed');
    assert.equal(told(step({ at: 'handing_over', isLapsed: true }, EVENTS.called_off)), 'closed');
  });

  describe('claims', () => {
    const CLAIMS = [
      ['a free guard', { guard: { ...GUARD, owner: '' } }, true],
      ['the guard of an owner whose session is over', { isOwnerLive: false }, true],
      ['the guard that this incarnation got without knowing', { isMine: true }, true],
      ['never the guard of a live owner', {}, false],
      ['nothing without a session of its own', { isOwnerLive: false, mayClaim: false }, false],
      ['nothing that it may not own', { isOwnerLive: false, rank: undefined }, false],
    ] as const;
    for (const [what, more, isClaimed] of CLAIMS) {
      it(what, () => {
        const then = step(NOT_OURS, seen({ rank: 0, mayClaim: true, ...more }));
        assert.equal(then.action?.do, isClaimed ? 'claim' : undefined);
      });
    }

    it('expects the owner that was seen', () => {
      const { action } = step(NOT_OURS, seen({ rank: 0, mayClaim: true, isOwnerLive: false }));
      assert.deepEqual(action, { do: 'claim', expected: '7:x' });
    });

    it('the k-th best member only after k times 250 ms', () => {
      const at = (now: number) => seen({ now, rank: 2, mayClaim: true, isOwnerLive: false });
      const first = step(NOT_OURS, at(1_000));
      const early = step(first.state, at(1_000 + 2 * EACH_RANK - 1));
      assert.deepEqual([first.action, early.action], [undefined, undefined]);
      assert.equal(step(early.state, at(1_000 + 2 * EACH_RANK)).action?.do, 'claim');
    });

    it('what it handed over no sooner than others would: the one it is meant for may not have seen it yet', () => {
      const handedOver = { isMine: true, guard: { ...GUARD, owner: '' }, mayClaim: true };
      const first = step(NOT_OURS, seen({ now: 1_000, rank: 1, ...handedOver }));
      assert.equal(first.action, undefined);
      assert.equal(step(first.state, seen({ now: 1_000 + EACH_RANK, rank: 1, ...handedOver })).action?.do, 'claim');
      assert.equal(step(NOT_OURS, seen({ rank: 0, ...handedOver })).action?.do, 'claim');
    });

    it('begins to count anew when the guard changed, when its owner came back, and when it might not claim', () => {
      const wait = { rank: 1, mayClaim: true, isOwnerLive: false };
      const first = step(NOT_OURS, seen({ now: 1_000, ...wait }));
      for (const between of [
        { ...wait, guard: { ...GUARD, owner: '8:y', epoch: 8 } },
        { ...wait, isOwnerLive: true },
        { ...wait, mayClaim: false },
      ]) {
        const second = step(first.state, seen({ now: 1_100, ...between }));
        assert.equal(step(second.state, seen({ now: 1_300, ...wait })).action, undefined);
      }
    });
  });

  it('an open or closed partition that another home has by a later claim is dropped', () => {
    for (const at of ['open', 'closed'] as const)
      assert.equal(told(step(STATES[at], seen({ isSucceeded: true }))), 'dropping + succeeded');
  });

  it('a closed partition is claimed from itself when the session is back, and not before', () => {
    assert.equal(told(step(STATES.closed, seen({ mayClaim: true }))), 'reclaiming + reclaim');
    assert.equal(told(step(STATES.closed, seen())), 'closed');
  });
});
