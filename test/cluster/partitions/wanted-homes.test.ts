/** The figures are those that the design rests on, over many random names. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Pins, pinsOf } from '../../../src/cluster/partitions/pins.js';
import { type Candidate, WantedHomes } from '../../../src/cluster/partitions/wanted-homes.js';
import { Chance } from '../../sim/random.js';

const P = 64;
const TRIES = 200;

function candidate(id: string, more: Partial<Candidate> = {}): Candidate {
  return { id, name: id, address: `${id}:1`, weight: 1, isLeaving: false, format: 1, ...more };
}

function some(chance: Chance, count: number): Candidate[] {
  return Array.from({ length: count }, () => candidate(chance.next().toString(36).slice(2)));
}

function all(homes: WantedHomes, partitions = P): readonly (string | undefined)[] {
  return Array.from({ length: partitions }, (_, partition) => homes.of(partition));
}

function shareOf(id: string, homes: WantedHomes, partitions = P): number {
  return all(homes, partitions).filter((home) => home === id).length;
}

function moved(before: WantedHomes, after: WantedHomes): number {
  const then = all(before);
  return all(after).filter((home, partition) => home !== then[partition]).length;
}

describe('wanted homes', () => {
  it('gives each of three members 21 or 22 of 64 partitions, whatever they are called', () => {
    const chance = new Chance(1);
    for (let i = 0; i < TRIES; i++) {
      const members = some(chance, 3);
      const homes = new WantedHomes(P, members);
      const shares = members.map(({ id }) => shareOf(id, homes)).sort();
      assert.deepEqual(shares, [21, 21, 22]);
    }
  });

  it('moves hardly more than what must move when one of three leaves, or a fourth comes', () => {
    const chance = new Chance(2);
    let left = 0;
    let came = 0;
    for (let i = 0; i < TRIES; i++) {
      const members = some(chance, 3);
      const homes = new WantedHomes(P, members);
      left += moved(homes, new WantedHomes(P, members.slice(1)));
      came += moved(homes, new WantedHomes(P, [...members, ...some(chance, 1)]));
    }
    // 21.3 and 16 are owned by the one who leaves or comes.
    assert.ok(left / TRIES < 23.5, `${left / TRIES} move when one leaves`);
    assert.ok(came / TRIES < 19.5, `${came / TRIES} move when one comes`);
  });

  it('does not depend on the order in which members are listed', () => {
    const members = some(new Chance(3), 7);
    assert.deepEqual(all(new WantedHomes(P, members)), all(new WantedHomes(P, [...members].reverse())));
  });

  it('gives a member a share by its weight, and never more than that, rounded up', () => {
    const chance = new Chance(4);
    for (let i = 0; i < TRIES; i++) {
      const members = some(chance, chance.int(1, 9)).map((one) => ({ ...one, weight: chance.int(1, 5) }));
      const partitions = 2 ** chance.int(0, 8);
      const homes = new WantedHomes(partitions, members);
      const sum = members.reduce((weights, { weight }) => weights + weight, 0);
      for (const { id, weight } of members) {
        const share = shareOf(id, homes, partitions);
        const exact = (partitions * weight) / sum;
        assert.ok(share >= Math.floor(exact) && share <= Math.ceil(exact), `${share} instead of ${exact}`);
      }
    }
  });

  it('gives nothing to a member of weight 0, and nothing to one that leaves', () => {
    const members = [candidate('a'), candidate('b', { weight: 0 }), candidate('c', { isLeaving: true })];
    const homes = new WantedHomes(P, members);
    assert.equal(shareOf('a', homes), P);
    assert.equal(homes.rank(0, 'b'), undefined);
    assert.equal(homes.rank(0, 'c'), undefined);
  });

  it('knows no home when nobody may own', () => {
    for (const members of [[], [candidate('a', { weight: 0 })]])
      assert.equal(new WantedHomes(P, members).of(5), undefined);
  });

  it('S334: those who leave are wanted when nobody stays, so that turns are settled somewhere', () => {
    const members = ['a', 'b'].map((id) => candidate(id, { isLeaving: true }));
    const homes = new WantedHomes(P, members);
    assert.equal(shareOf('a', homes), P / 2);
    assert.equal(shareOf('b', homes), P / 2);
  });

  it('gives a partition to nobody who cannot read its rows, be it more than a share', () => {
    const members = [candidate('new', { format: 2 }), candidate('old'), candidate('older')];
    const formats = Array.from({ length: P }, (_, partition) => (partition < 40 ? 2 : 1));
    const homes = new WantedHomes(P, members, formats);
    for (let partition = 0; partition < 40; partition++) {
      assert.equal(homes.of(partition), 'new');
      assert.equal(homes.rank(partition, 'old'), undefined);
    }
    assert.equal(new WantedHomes(1, [candidate('old')], [2]).of(0), undefined);
  });

  it('puts every member that may own into one order, each with a rank of its own, the wanted one first', () => {
    const members = some(new Chance(5), 5);
    const homes = new WantedHomes(P, members);
    for (let partition = 0; partition < P; partition++) {
      const ranks = members.map(({ id }) => homes.rank(partition, id) ?? -1);
      assert.deepEqual([...ranks].sort(), [0, 1, 2, 3, 4]);
      assert.equal(homes.rank(partition, homes.of(partition) ?? ''), 0);
    }
  });
});

function pinned(pins: Readonly<Record<string, { name: string; address?: string }>>): Pins {
  const all = Object.entries(pins).map(([partition, pin]) => [partition, { ...pin, at: 2 }] as const);
  return pinsOf({ partitions: P, pins: Object.fromEntries(all) });
}

describe('wanted homes of partitions that people moved', () => {
  it('S330: is the member that was named, whoever computes it, and everybody keeps an even share', () => {
    const chance = new Chance(6);
    for (let i = 0; i < TRIES; i++) {
      const members = some(chance, chance.int(2, 6));
      const pins: Record<string, { name: string }> = {};
      for (let n = chance.int(1, 10); n > 0; n--)
        pins[chance.int(0, P - 1)] = { name: members[chance.int(0, members.length - 1)]?.name ?? '' };
      const homes = new WantedHomes(P, members, [], pinned(pins));
      for (const [partition, { name }] of Object.entries(pins)) {
        assert.equal(homes.of(Number(partition)), name);
        assert.equal(homes.rank(Number(partition), name), 0);
        assert.ok(homes.isPinned(Number(partition)));
      }
      for (const { id } of members) {
        const [share, exact] = [shareOf(id, homes), P / members.length];
        assert.ok(share >= Math.floor(exact) && share <= Math.ceil(exact), `${share} instead of ${exact}`);
      }
      assert.deepEqual(all(homes), all(new WantedHomes(P, [...members].reverse(), [], pinned(pins))));
    }
  });

  it('S330: may have more than its share by pins alone; the others have the rest in even shares', () => {
    const members = ['a', 'b', 'c'].map((id) => candidate(id));
    const pins = pinned(Object.fromEntries(Array.from({ length: 40 }, (_, p) => [p, { name: 'a' }])));
    const homes = new WantedHomes(P, members, [], pins);
    assert.deepEqual(
      members.map(({ id }) => shareOf(id, homes)),
      [40, 12, 12],
    );
  });

  it('S330: without a member of that name it is as without a pin, and so with one that leaves, owns nothing or reads older rows', () => {
    const pins = pinned({ 5: { name: 'b' } });
    for (const more of [{ name: 'other' }, { isLeaving: true }, { weight: 0 }, { format: 0 }]) {
      const members = [candidate('a'), candidate('b', more), candidate('c')];
      const formats = Array.from({ length: P }, () => 1);
      assert.deepEqual(all(new WantedHomes(P, members, formats, pins)), all(new WantedHomes(P, members, formats)));
      assert.ok(!new WantedHomes(P, members, formats, pins).isPinned(5));
    }
  });

  it('S331: of several with one name it is the one at that address, or one of them where none is said', () => {
    const members = ['a', 'b', 'c', 'd'].map((id) => candidate(id, { name: id < 'c' ? 'host' : id }));
    for (let partition = 0; partition < P; partition++) {
      const at = new WantedHomes(P, members, [], pinned({ [partition]: { name: 'host', address: 'b:1' } }));
      assert.equal(at.of(partition), 'b');
      const either = new WantedHomes(P, members, [], pinned({ [partition]: { name: 'host' } }));
      assert.match(either.of(partition) ?? '', /^[ab]$/);
    }
  });

  it('S330: moves hardly more than what people moved, and what makes room for it', () => {
    const chance = new Chance(8);
    let most = 0;
    for (let i = 0; i < TRIES; i++) {
      const members = some(chance, 3);
      const before = new WantedHomes(P, members);
      const partition = chance.int(0, P - 1);
      const to = members.find(({ id }) => id !== before.of(partition))?.name ?? '';
      most = Math.max(most, moved(before, new WantedHomes(P, members, [], pinned({ [partition]: { name: to } }))));
    }
    assert.ok(most <= 3, `${most} move`);
  });
});
