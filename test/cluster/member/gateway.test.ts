import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GatewayHomes } from '../../../src/cluster/member/gateway.js';
import type { HomeEntry } from '../../../src/cluster/registry/registry.js';
import { RemoteHome } from '../../sim/cluster-network.js';
import { FakeRegistryEngine } from '../../support/cluster/fake-registry.js';
import { FakeClock } from '../../support/fake-clock.js';

function entry(partition: number, member: string, epoch = 1): HomeEntry {
  return { partition, member, epoch, address: `${member}:1` };
}

function staged() {
  const clock = new FakeClock();
  const engine = new FakeRegistryEngine(clock);
  const registry = engine.open('g');
  const made: HomeEntry[] = [];
  const connect = (home: HomeEntry) => {
    made.push(home);
    return new RemoteHome(() => undefined);
  };
  const troubles: (string | undefined)[] = [];
  const trouble = (error: Error | undefined) => troubles.push(error?.message);
  const homes = new GatewayHomes({ clock, registry, partitions: 2, connect, trouble });
  const pass = async (ms: number) => {
    clock.advance(ms);
    for (let i = 0; i < 10; i++) await Promise.resolve();
    clock.turn();
  };
  return { clock, engine, registry, made, homes, pass, troubles };
}

describe('a gateway', () => {
  it('reads who is the home of what once a second, has no session, and is home of nothing', async () => {
    const { engine, registry, homes, pass } = staged();
    engine.publish([entry(0, 'a'), entry(1, 'b')]);
    assert.equal(homes.isKnown, false);
    assert.match(homes.whyNone(0), /the map of homes was not read yet/);
    homes.start();
    await pass(0);
    assert.equal(homes.isKnown, true);
    assert.notEqual(homes.home(0), undefined);
    assert.equal(homes.isHere(), false);
    for (let i = 0; i < 5; i++) await pass(1_000);
    assert.equal(registry.wire.calls, 6);
    assert.deepEqual(engine.members, []);
    homes.close();
    await pass(5_000);
    assert.equal(registry.wire.calls, 6);
  });

  it('reads again after 50 ms when a call waits for a home, however many do', async () => {
    const { registry, homes, pass } = staged();
    homes.start();
    await pass(0);
    for (let i = 0; i < 49; i++) {
      homes.look();
      await pass(1);
    }
    assert.equal(registry.wire.calls, 1);
    await pass(1);
    assert.equal(registry.wire.calls, 2);
    homes.close();
  });

  it('has one coordinator for each claim, and tells which changed', async () => {
    const { engine, made, homes, pass } = staged();
    const changed: number[] = [];
    homes.onChange((partitions) => changed.push(...partitions));
    engine.publish([entry(0, 'a'), entry(1, 'b')]);
    homes.start();
    await pass(0);
    await pass(0);
    const [first, second] = [homes.home(0), homes.home(1)];
    engine.publish([entry(1, 'a', 2)]);
    await pass(1_000);
    await pass(0);
    assert.equal(homes.home(0), first);
    assert.notEqual(homes.home(1), second);
    assert.deepEqual(changed, [0, 1, 1]);
    assert.equal(made.length, 3);
  });

  it('keeps what it knows while the registry cannot be asked, and says why it knows no more', async () => {
    const { engine, registry, homes, pass, troubles } = staged();
    engine.publish([entry(0, 'a')]);
    homes.start();
    await pass(0);
    registry.wire.fault = () => ({ refused: 'io' });
    await pass(1_000);
    assert.notEqual(homes.home(0), undefined);
    assert.match(homes.whyNone(1), /no member has said that it is its home; .*homes was refused/);
    registry.wire.fault = () => ({});
    await pass(1_000);
    assert.equal(troubles.length, 2);
    assert.equal(troubles[1], undefined);
  });
});
