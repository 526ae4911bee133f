import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memberNamed, pinsOf, whyNotHome, withPin } from '../../../src/cluster/partitions/pins.js';
import type { Member } from '../../../src/cluster/registry/registry.js';
import type { ClusterRecord } from '../../../src/cluster/store/cluster-store.js';

function member(id: string, name: string, more: Partial<Member> = {}): Member {
  const fixed = { grpc: '', version: '1.2', format: 1, weight: 1, isLeaving: false, routes: 1 };
  return { id, name, address: `${id}:1`, ...fixed, ...more };
}

const MEMBERS = [
  member('aaaa1111-0', 'north'),
  member('aaaa2222-0', 'south'),
  member('bbbb3333-0', 'twin'),
  member('cccc4444-0', 'twin'),
  member('dddd5555-0', 'aaaa'),
];

describe('the member that a person names', () => {
  const found: readonly [said: string, id: string, pin: object][] = [
    ['north', 'aaaa1111-0', { name: 'north' }],
    ['aaaa2222-0', 'aaaa2222-0', { name: 'south' }],
    ['aaaa2', 'aaaa2222-0', { name: 'south' }],
    ['bbbb', 'bbbb3333-0', { name: 'twin', address: 'bbbb3333-0:1' }],
    ['cccc4444-0', 'cccc4444-0', { name: 'twin', address: 'cccc4444-0:1' }],
    // A name comes before the beginning of an id.
    ['aaaa', 'dddd5555-0', { name: 'aaaa' }],
  ];
  for (const [said, id, pin] of found)
    it(`S331: ${said} is ${id}, and is found again by ${Object.keys(pin).join(' and ')}`, () => {
      const named = memberNamed(said, MEMBERS);
      assert.ok('member' in named);
      assert.deepEqual([named.member.id, named.pin], [id, pin]);
    });

  const not: readonly [said: string, why: RegExp][] = [
    [
      'west',
      /^there is no member "west"; there are north aaaa1111, south aaaa2222, twin bbbb3333, twin cccc4444, aaaa dddd5555 \(sidecars of weight 0/,
    ],
    ['bbb', /^there is no member "bbb"/],
    ['twin', /^"twin" is ambiguous; say the id, .*: twin bbbb3333, twin cccc4444$/],
    ['', /^there is no member ""/],
  ];
  for (const [said, why] of not)
    it(`S331: ${JSON.stringify(said)} is nobody, and the answer says whom there is`, () => {
      const named = memberNamed(said, MEMBERS);
      assert.match('why' in named ? named.why : '', why);
    });

  it('S331: names at most 20 of many members, and is clear where there is none', () => {
    const many = Array.from({ length: 30 }, (_, at) => member(`id-${at}`, `host-${at}`));
    const named = memberNamed('x', many);
    assert.match('why' in named ? named.why : '', /host-19 id-19 and 10 more /);
    const nobody = memberNamed('x', []);
    assert.match('why' in nobody ? nobody.why : '', /there is none at all/);
  });

  const cannot: readonly [more: Partial<Member>, why: RegExp][] = [
    [{ weight: 0 }, /gateway \(weight 0\)/],
    [{ isLeaving: true }, /is leaving/],
    [{ format: 1 }, /version 1\.2\) reads rows up to format 1, and these have format 2/],
  ];
  for (const [more, why] of cannot)
    it(`S331: with ${JSON.stringify(more)} it cannot be the home`, () => {
      assert.match(whyNotHome(member('aaaa1111', 'north', { format: 2, ...more }), 2) ?? '', why);
    });
});

describe('pins in the record', () => {
  const record: ClusterRecord = { id: 'i', partitions: 4, secret: 's', version: 1, routes: {} };

  it('are set and taken away, and nothing else is changed', () => {
    const one = withPin({ ...record, revision: 7 }, 2, { name: 'a', at: 8 });
    const two = withPin(one, 3, { name: 'b', address: 'b:1', at: 9 });
    assert.deepEqual([...pinsOf(two).keys()], [2, 3]);
    assert.deepEqual(withPin(withPin(two, 3, undefined), 2, undefined), { ...record, revision: 7, pins: {} });
  });

  it('of partitions that there are not count for nothing', () => {
    const odd = { ...record, pins: { 4: { name: 'a', at: 1 }, '-1': { name: 'a', at: 1 }, x: { name: 'a', at: 1 } } };
    assert.equal(pinsOf(odd).size, 0);
  });
});
