/** What every registry promises: one suite for the one in memory and those over a real engine. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Member, Registry } from '../../src/cluster/registry/registry.js';
import { JournalError } from '../../src/local/journal/journal.js';

export interface RegistryPlace {
  /** As another member each time. */
  open(): Promise<Registry>;
  /** Lets so much time pass for the sessions. */
  pass(ms: number): Promise<void>;
  /** FLUSHALL. */
  empty(): Promise<void>;
  lose(registry: Registry, what: 'requests' | 'answers' | undefined): void;
  /** Waits until it has settled, past deadlines too. */
  outwait<T>(promise: Promise<T>): Promise<T>;
}

const LONG = 600_000;

export function member(id: string, differences: Partial<Member> = {}): Member {
  const about = {
    name: `host-${id}`,
    address: '10.0.0.1:7423',
    grpc: '10.0.0.1:7420',
    version: '0.1.0',
    format: 1,
    weight: 1,
  };
  return { id, ...about, isLeaving: false, routes: 1, ...differences };
}

export function registrySuite(name: string, place: (t: TestContext) => Promise<RegistryPlace>): void {
  describe(`${name} keeps what every registry promises`, () => {
    it('lists nobody at first', async (t) => {
      const registry = await (await place(t)).open();
      assert.deepEqual([await registry.members(), await registry.homes()], [[], []]);
    });

    it('lists members to everybody, in the order of their ids', async (t) => {
      const there = await place(t);
      const [a, b] = [await there.open(), await there.open()];
      await b.join(member('b', { weight: 0 }), LONG);
      await a.join(member('a', { name: 'schlüssel "1"' }), LONG);
      await a.join(member('c'), LONG);
      const all = [member('a', { name: 'schlüssel "1"' }), member('b', { weight: 0 }), member('c')];
      assert.deepEqual(await a.members(), all);
      assert.deepEqual(await b.members(), all);
    });

    it('ends a session that is not renewed in time', async (t) => {
      const there = await place(t);
      const registry = await there.open();
      await registry.join(member('a'), 30_000);
      await registry.join(member('b'), LONG);
      await there.pass(40_000);
      assert.deepEqual(await registry.members(), [member('b')]);
      assert.equal(await registry.renew(member('a'), LONG), false);
      assert.deepEqual(await registry.members(), [member('b')]);
    });

    it('keeps a session that is renewed, with the record as it is now', async (t) => {
      const there = await place(t);
      const registry = await there.open();
      await registry.join(member('a'), 30_000);
      assert.equal(await registry.renew(member('a', { isLeaving: true }), LONG), true);
      await there.pass(40_000);
      assert.deepEqual(await registry.members(), [member('a', { isLeaving: true })]);
    });

    it('writes a session over when it is joined again', async (t) => {
      const registry = await (await place(t)).open();
      await registry.join(member('a'), LONG);
      await registry.join(member('a', { weight: 3, revision: 7 }), LONG);
      assert.deepEqual(await registry.members(), [member('a', { weight: 3, revision: 7 })]);
    });

    it('ends a session at once when its member leaves, also one that it does not know', async (t) => {
      const registry = await (await place(t)).open();
      await registry.join(member('a'), LONG);
      await registry.leave('a');
      await registry.leave('a');
      assert.deepEqual(await registry.members(), []);
      assert.equal(await registry.renew(member('a'), LONG), false);
    });

    it('forgets all sessions when it is emptied, and takes new ones', async (t) => {
      const there = await place(t);
      const registry = await there.open();
      await registry.join(member('a'), LONG);
      await there.empty();
      assert.equal(await registry.renew(member('a'), LONG), false);
      await registry.join(member('b'), LONG);
      assert.deepEqual(await registry.members(), [member('b')]);
    });

    it('says that it does not know when an answer is lost, and goes on', async (t) => {
      const there = await place(t);
      const registry = await there.open();
      await registry.join(member('a'), LONG);
      for (const what of ['answers', 'requests'] as const) {
        there.lose(registry, what);
        await assert.rejects(there.outwait(registry.renew(member('a'), LONG)), JournalError);
        there.lose(registry, undefined);
        assert.equal(await registry.renew(member('a'), LONG), true);
      }
    });

    it('lists at most 1,000 members', async (t) => {
      const registry = await (await place(t)).open();
      const ids = Array.from({ length: 1_010 }, (_, at) => `m${1_000 + at}`);
      for (let from = 0; from < ids.length; from += 16) {
        await Promise.all(ids.slice(from, from + 16).map((id) => registry.join(member(id), LONG)));
      }
      const found = await registry.members();
      assert.deepEqual(
        found.map(({ id }) => id),
        ids.slice(0, 1_000),
      );
    });

    it('tells homes: of two of one partition the one with the larger epoch, in whatever order', async (t) => {
      const there = await place(t);
      const [a, b] = [await there.open(), await there.open()];
      const home = (partition: number, epoch: number, by: string) => ({
        partition,
        epoch,
        member: by,
        address: `${by}:1`,
      });
      const large = 2 ** 45;
      await a.publish([home(2, large, 'a'), home(10, 7, 'a')]);
      await b.publish([home(2, large - 1, 'b'), home(10, 8, 'b'), home(0, 1, 'b')]);
      await b.publish([]);
      assert.deepEqual(await a.homes(), [home(0, 1, 'b'), home(2, large, 'a'), home(10, 8, 'b')]);
    });
  });
}
