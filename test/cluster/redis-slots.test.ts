/** Which slot a key has, and who is believed to have a slot, without any server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nodeView } from '../../src/cluster/redis/places/node-view.js';
import { redirectIn } from '../../src/cluster/redis/places/redirect.js';
import { slotOf } from '../../src/cluster/redis/places/slot.js';
import { SlotMap } from '../../src/cluster/redis/places/slot-map.js';
import { recordKeys } from '../../src/cluster/store/redis/record-keys.js';
import { JournalError } from '../../src/local/journal/journal.js';

// Each as CLUSTER KEYSLOT of a Redis 7.0 says it.
const KEYS: readonly (readonly [key: string, slot: number])[] = [
  ['123456789', 12_739],
  ['foo', 12_182],
  ['{foo}.bar', 12_182],
  ['foo{}{bar}', 8_363],
  ['{a.0}:own', 16_353],
];

interface Told {
  readonly by: string;
  readonly masters: Readonly<Record<string, readonly [epoch: number, slots: string]>>;
  readonly replicas?: readonly string[];
}

/** What a node says, as Redis words it. */
function said({ by, masters, replicas = [] }: Told) {
  const line = (id: string, role: string, epoch: number, slots: string) =>
    `${id} 10.0.0.${id}:7000@17000 ${id === by ? 'myself,' : ''}${role} - 0 1 ${epoch} connected ${slots}`.trimEnd();
  const lines = [
    ...Object.entries(masters).map(([id, [epoch, slots]]) => line(id, 'master', epoch, slots)),
    ...replicas.map((id) => line(id, 'slave', 0, '')),
  ];
  const view = nodeView({ host: `10.0.0.${by}`, port: 7_000 }, `${lines.join('\n')}\n`, []);
  assert.ok(view !== undefined);
  return view;
}

function ownerBy(...told: readonly Told[]): string | undefined {
  const map = new SlotMap();
  for (const one of told) map.learn(said(one), 0);
  return map.ownerOf(5)?.id;
}

describe('slots of a Redis Cluster', () => {
  it('S510: a key has the slot that Redis says, by what stands in its first braces', () => {
    for (const [key, slot] of KEYS) assert.equal(slotOf(key), slot, key);
    assert.notEqual(slotOf('foo{}{bar}'), slotOf('bar'), 'empty braces do not count');
    assert.equal(slotOf('{c.7}:own'), slotOf('{c.7}:own:never'));
  });

  it('S510: all that is of no partition alone is in the slot of the members', () => {
    const { record, orders, import: mark } = recordKeys('shop', true);
    for (const key of [record, orders, mark]) assert.equal(slotOf(key), slotOf('{shop.members}:m'));
    assert.deepEqual(recordKeys('shop', false), {
      record: 'shop:record',
      orders: 'shop:restore',
      import: 'shop:import',
    });
  });

  it('S513: of masters that claim a slot the one with the larger epoch has it, in whatever order they are heard', () => {
    const old: Told = { by: '1', masters: { 1: [1, '0-9'], 2: [2, '10-19'] } };
    const next: Told = { by: '2', masters: { 1: [1, ''], 2: [2, '10-19'], 3: [7, '0-9'] } };
    // The new master itself is not heard: another one tells of it. The old one is cut off, and answers.
    assert.equal(ownerBy(old, next), '3');
    assert.equal(ownerBy(next, old), '3');
  });

  it('S513: a node that answers is believed about itself: it gave a slot away, which others have not heard', () => {
    // It has a larger epoch than the one that got it, for another reason.
    const gave: Told = { by: '1', masters: { 1: [9, '0-4'], 2: [6, '5-19'] } };
    const deaf: Told = { by: '3', masters: { 1: [9, '0-9'], 2: [5, '10-19'], 3: [3, '20'] } };
    assert.equal(ownerBy(gave, deaf), '2');
    assert.equal(ownerBy(deaf, gave), '2');
    assert.equal(ownerBy(deaf), '1');
  });

  it('S513: a master that became a replica has nothing, by its own word', () => {
    const then: Told = { by: '1', masters: { 1: [1, '0-9'], 2: [2, '10-19'] } };
    const now: Told = { by: '1', masters: { 2: [2, '10-19'], 3: [7, '0-9'] }, replicas: ['1'] };
    const map = new SlotMap();
    map.learn(said(then), 0);
    assert.equal(map.ownerOf(5)?.id, '1');
    assert.equal(map.learn(said(now), 1), true);
    assert.equal(map.ownerOf(5)?.id, '3');
    assert.equal(map.learn(said(now), 2), false, 'nothing new');
  });

  it('S513: the word of a node that is silent for 10 s counts no more; who had a slot that nobody claims keeps it', () => {
    const map = new SlotMap();
    map.learn(said({ by: '1', masters: { 1: [9, '0-9'], 2: [2, '10-19'] } }), 0);
    map.learn(said({ by: '2', masters: { 1: [1, ''], 2: [2, '10-19'], 3: [7, '0-9'] } }), 9_000);
    assert.equal(map.ownerOf(5)?.id, '1');
    map.learn(said({ by: '2', masters: { 1: [1, ''], 2: [2, '10-19'], 3: [7, '0-9'] } }), 10_001);
    assert.equal(map.ownerOf(5)?.id, '3');
    map.learn(said({ by: '2', masters: { 2: [2, '10-19'] } }), 10_002);
    assert.equal(map.ownerOf(5)?.id, '3');
  });

  it('S510: a node is where CLUSTER SLOTS says: by a name, or at the host that was asked; slots on their way are where they were', () => {
    const lines = [
      'a1 10.0.0.1:7000@17000,redis-1 myself,master - 0 1 3 connected 0-5 [7->-b2] 9',
      'b2 10.0.0.2:7000@17000,redis-2 master - 0 1 4 connected 6-8',
      'c3 :0@0 master,noaddr - 0 1 4 disconnected',
      'd4 10.0.0.4:7000@17000 handshake - 0 1 0 connected',
    ];
    const slots = [
      [0, 5, [null, 6_379, 'a1', []]],
      [6, 8, ['redis-2', 6_380, 'b2', ['ip', '10.0.0.2']]],
    ];
    const view = nodeView({ host: '::1', port: 1 }, lines.join('\n'), slots);
    assert.deepEqual(
      view?.nodes.map(({ id, host, port, slots: has }) => [id, host, port, has]),
      [
        [
          'a1',
          '::1',
          6_379,
          [
            [0, 5],
            [9, 9],
          ],
        ],
        ['b2', 'redis-2', 6_380, [[6, 8]]],
      ],
    );
    assert.equal(nodeView({ host: 'h', port: 1 }, 'ERR unknown', undefined), undefined);
  });

  it('S512: what a node says instead of an answer is known', () => {
    const of = (text: string) => redirectIn(new JournalError('io', 'asking failed', { cause: new Error(text) }));
    assert.deepEqual(of('MOVED 3999 127.0.0.1:6381'), { kind: 'moved' });
    assert.deepEqual(of('ASK 3999 ::1:6381'), { kind: 'ask', at: { host: '::1', port: 6_381 } });
    assert.deepEqual(of('TRYAGAIN Multiple keys request during rehashing of slot'), { kind: 'again' });
    assert.equal(of('CLUSTERDOWN The cluster is down'), undefined);
    assert.equal(redirectIn(new Error('MOVED 1 h:1')), undefined);
  });
});
