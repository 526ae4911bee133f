import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LocalDeadline } from '../../../src/cluster/member/deadline.js';
import { Listing, type View } from '../../../src/cluster/member/listing.js';
import type { Member } from '../../../src/cluster/registry/registry.js';
import { FakeEngine } from '../../support/cluster/fake-engine.js';
import { FakeRegistryEngine } from '../../support/cluster/fake-registry.js';
import { FakeClock } from '../../support/fake-clock.js';

function member(id: string): Member {
  return {
    id,
    name: id,
    address: `${id}:1`,
    grpc: `${id}:2`,
    version: '1',
    format: 1,
    weight: 1,
    isLeaving: false,
    routes: 1,
  };
}

async function settled(clock: FakeClock): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
  clock.turn();
}

describe('what a member sees of the cluster', () => {
  it('S235: who claimed before its guard was read is seen as a member, or its session is over', async () => {
    const clock = new FakeClock();
    const engine = new FakeEngine(clock);
    const registry = new FakeRegistryEngine(clock);
    const views: View[] = [];
    const [store, own] = [engine.open('a'), registry.open('a')];
    const deadline = new LocalDeadline(clock, 3_000, () => undefined);
    const listing = new Listing(
      store,
      own,
      clock,
      1,
      deadline,
      (view) => views.push(view),
      () => undefined,
    );
    // Behind the first question, whichever it is, another one joins and claims.
    let asked = 0;
    const after = async <T>(answer: T): Promise<T> => {
      asked += 1;
      if (asked > 1) return answer;
      registry.join(member('b'), 3_000);
      await engine.open('b').claim({ partition: 0, expected: '', member: 'b', floor: 0, format: 1 });
      return answer;
    };
    const { members } = own;
    const { look } = store;
    own.members = async () => after(await members.call(own));
    store.look = async (partitions) => after(await look.call(store, partitions));
    listing.look();
    await settled(clock);
    clock.advance(250);
    await settled(clock);
    for (const view of views) {
      const owner = view.guards[0]?.member ?? '';
      const seen = view.members;
      assert.ok(owner === '' || seen.has(owner), `${owner} has the guard and is not seen`);
    }
    assert.equal(views.at(-1)?.guards[0]?.member, 'b');
  });

  it('looks four times a second, at once when it is asked to, and never twice at a time', async () => {
    const clock = new FakeClock();
    const store = new FakeEngine(clock).open('a');
    const registry = new FakeRegistryEngine(clock).open('a');
    let seen = 0;
    const deadline = new LocalDeadline(clock, 3_000, () => undefined);
    const listing = new Listing(
      store,
      registry,
      clock,
      1,
      deadline,
      () => (seen += 1),
      () => undefined,
    );
    listing.look();
    listing.look();
    assert.equal(store.wire.calls, 1);
    await settled(clock);
    await settled(clock);
    assert.equal(seen, 2);
    for (let i = 0; i < 4; i++) {
      clock.advance(250);
      await settled(clock);
    }
    assert.equal(seen, 6);
    listing.end();
    clock.advance(1_000);
    await settled(clock);
    assert.equal(seen, 6);
  });

  for (const isMoving of [false, true])
    it(`looks after 25 ms while ${isMoving ? 'something is on its way' : 'somebody waits for a home'}, however often that is said`, async () => {
      const clock = new FakeClock();
      const store = new FakeEngine(clock).open('a');
      const registry = new FakeRegistryEngine(clock).open('a');
      const deadline = new LocalDeadline(clock, 3_000, () => undefined);
      const nothing = () => undefined;
      const listing = new Listing(store, registry, clock, 1, deadline, nothing, nothing, () => isMoving);
      listing.look();
      await settled(clock);
      const before = store.wire.calls;
      for (let i = 0; i < 24; i++) {
        if (!isMoving) listing.soon();
        clock.advance(1);
        await settled(clock);
      }
      assert.equal(store.wire.calls, before);
      clock.advance(1);
      await settled(clock);
      assert.equal(store.wire.calls, before + 1);
      listing.end();
    });

  it('knows since when nobody came or went, and does not compute anew what is the same', async () => {
    const clock = new FakeClock();
    const registry = new FakeRegistryEngine(clock);
    const deadline = new LocalDeadline(clock, 3_000, () => undefined);
    const views: View[] = [];
    const store = new FakeEngine(clock).open('a');
    const seen = (view: View) => views.push(view);
    const listing = new Listing(store, registry.open('a'), clock, 4, deadline, seen, () => undefined);
    registry.join(member('a'), 60_000);
    listing.look();
    await settled(clock);
    clock.advance(250);
    await settled(clock);
    registry.join(member('b'), 60_000);
    clock.advance(250);
    await settled(clock);
    const [first, second, third] = views;
    assert.equal(second?.since, first?.since);
    assert.equal(second?.wanted, first?.wanted);
    assert.equal(third?.since, clock.now());
    assert.notEqual(third?.wanted, first?.wanted);
  });
});
