/** S272: a journal that cannot give contents at once. They stay in memory, are charged there, and come back at a start. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bytesOfPayload } from '../../../src/core/contract/payload.js';
import { KEY, QUEUE } from '../../support/builders.js';
import { textContent } from '../../support/memory-journal.js';
import { recount } from '../../support/recount.js';
import { lettersOf, okay } from '../stage.js';
import { Lives } from './reborn.js';

const HEADERS = new Map([['colour', 'blue']]);
/** More than half of the memory. */
const LARGE = 'x'.repeat(6_000);
const SMALL_MEMORY = { queues: { [QUEUE]: { durable: true } }, limits: { payloadMemoryBytes: 10_000 } };

function lives(change?: typeof SMALL_MEMORY): Lives {
  return new Lives(change, true);
}

/** The payload of the first item of the next turn, and its headers. */
function delivered({ stage }: Lives) {
  const { deliveries } = stage.acquire('w').value;
  const item = deliveries[0]?.items[0] ?? assert.fail('nothing came');
  assert.equal(item.stored, undefined, 'it is whole');
  return { text: Buffer.from(bytesOfPayload(item.payload)).toString(), headers: item.headers };
}

function bytes({ stage }: Lives): number {
  recount(stage.core.inside, stage.now);
  return stage.core.standing().payloadBytes;
}

describe('S272: where contents stay in memory', () => {
  it('an item is whole after the flush, and after a start', () => {
    const world = lives();
    world.stage.submit('p', [{ ...textContent('one'), headers: HEADERS, itemId: 'i' }]);
    world.flush();
    assert.deepEqual(delivered(world), { text: 'one', headers: HEADERS });
    world.restart();
    world.stage.submit('p', [{ ...textContent('two'), headers: HEADERS, itemId: 'j', key: 'j' }]);
    world.flush();
    world.restart();
    assert.deepEqual(delivered(world), { text: 'one', headers: HEADERS });
    assert.deepEqual(delivered(world), { text: 'two', headers: HEADERS });
  });

  it('it is charged from its Submit to its end, flushed or not, here or there', () => {
    const world = lives();
    assert.equal(bytes(world), 0);
    world.stage.submit('p', [{ ...textContent(LARGE), itemId: 'i' }]);
    const charged = bytes(world);
    assert.ok(charged > LARGE.length);
    world.flush();
    assert.equal(bytes(world), charged);
    world.restart();
    assert.equal(bytes(world), charged);
    const { deliveries } = world.stage.acquire('w').value;
    const token = deliveries[0]?.turn.token ?? assert.fail('nothing came');
    assert.equal(bytes(world), charged, 'in flight');
    world.flush();
    world.stage.ack('w', { key: KEY, token });
    assert.equal(bytes(world), 0);
  });

  it('a flush makes no room: who wants more is refused, or waits until an item ends', () => {
    const world = lives(SMALL_MEMORY);
    const { stage } = world;
    stage.submit('p', [{ ...textContent(LARGE), itemId: 'i' }]);
    world.flush();
    stage.submit('now', [{ ...textContent(LARGE), itemId: 'j', key: 'j' }]);
    stage.submit('later', [{ ...textContent(LARGE), itemId: 'l', key: 'l' }], QUEUE, 10_000);
    world.flush();
    stage.pass(1);
    assert.deepEqual(stage.told, ['p ACCEPT', 'now MEMORY_FULL']);
    const { deliveries } = stage.acquire('w').value;
    stage.ack('w', { key: KEY, token: deliveries[0]?.turn.token ?? 0 });
    assert.deepEqual(stage.told.slice(2), ['w turn with i', 'w OK', 'later ACCEPT']);
    recount(stage.core.inside, stage.now);
  });

  it('what is restored may be more than there may be: all of it is there, and new work is refused', () => {
    const world = lives();
    for (const id of ['a', 'b', 'c']) world.stage.submit('p', [{ ...textContent(LARGE), itemId: id, key: id }]);
    world.flush();
    world.restart({ change: SMALL_MEMORY });
    assert.ok(bytes(world) > SMALL_MEMORY.limits.payloadMemoryBytes);
    world.stage.submit('p', [{ itemId: 'd', key: 'd' }]);
    assert.deepEqual(world.stage.told, ['p MEMORY_FULL']);
    for (const id of ['a', 'b', 'c']) assert.equal(delivered(world).text, LARGE, id);
  });

  it('a dead letter is whole, before and after a start', () => {
    const world = lives();
    world.stage.submit('p', [{ ...textContent('dead'), headers: HEADERS, itemId: 'i' }]);
    world.flush();
    const { deliveries } = world.stage.acquire('w').value;
    world.stage.nack('w', { token: deliveries[0]?.turn.token ?? 0, kind: 'dead_letter' });
    for (let life = 0; life < 2; life++) {
      const request = { queue: QUEUE, key: undefined, pageSize: 10, pageToken: '' };
      const [letter] = okay(lettersOf(world.stage.core.listDeadLetters(request, 10))).deadLetters;
      assert.deepEqual([letter?.item.stored, letter?.item.headers], [undefined, HEADERS]);
      assert.equal(Buffer.from(bytesOfPayload(letter?.item.payload ?? new Uint8Array())).toString(), 'dead');
      world.flush();
      world.restart();
    }
  });

  it('rows without contents are not taken for empty items', () => {
    const world = new Lives();
    world.stage.submit('p', [{ ...textContent('one'), itemId: 'i' }]);
    world.flush();
    const rows = world.disk.rows().filter(({ table }) => table === 'items');
    const other = lives();
    assert.throws(
      () => other.stage.core.restore(rows, other.stage.now, world.disk.past),
      /item 1 of queue q was read without what it carries/,
    );
  });
});
