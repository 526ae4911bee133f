/** A coordinator that decides about one partition of a cluster: its tokens and the ids that it makes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SharedUse } from '../../../src/core/core.js';
import { FakeClock } from '../../support/fake-clock.js';
import { MemoryDisk } from '../../support/memory-journal.js';
import { DurableStage } from './stage.js';

const OF = 64;

/** The token of a turn of this key, flushed. */
async function tokenOf(stage: DurableStage, key: string): Promise<number> {
  const call = stage.enQueue({ queue: 'q', key });
  await stage.flush();
  return call.value.decision === 'accept' ? call.value.turn.token : assert.fail(call.value.decision);
}

async function idOf(stage: DurableStage): Promise<string> {
  const call = stage.submit([{ key: 'with an id of its own', itemId: undefined }]);
  await stage.flush();
  const [first] = call.value.results;
  return first?.decision === 'accept' ? first.itemId : assert.fail(first?.decision);
}

describe('S270: a partition', () => {
  it('gives tokens with its number as remainder, by its own clock', async () => {
    for (const number of [0, 17, 63]) {
      const stage = await DurableStage.start({ partition: { number, of: OF, tokenFloor: 0 } });
      const tokens = [await tokenOf(stage, 'a'), await tokenOf(stage, 'b')];
      assert.deepEqual([tokens.map((token) => token % OF), tokens[1]], [[number, number], (tokens[0] ?? 0) + OF]);
    }
  });

  it('S53: begins at the floor of the claim, where that is beyond clock and rows', async () => {
    const stage = await DurableStage.start({ partition: { number: 5, of: OF, tokenFloor: 0 } });
    const before = await tokenOf(stage, 'a');
    const rows = stage.disk.rows();
    const floor = rows.find((row) => row.table === 'floor')?.token ?? assert.fail('no floor is written');
    assert.ok(floor > before);
    // A store that fell back: its rows say less than the guard does.
    const far = floor + 1_000_000;
    const next = await stage.restart({ partition: { number: 5, of: OF, tokenFloor: far } }).recovered();
    const token = await tokenOf(next, 'b');
    assert.ok(token >= far && token < far + OF && token % OF === 5, `${token} from ${far}`);
    const third = await next.restart({ partition: { number: 5, of: OF, tokenFloor: 0 } }).recovered();
    assert.ok((await tokenOf(third, 'c')) > token, 'the rows say more than the claim');
  });

  it('S53: begins at the floor of the claim, where there is no row yet', async () => {
    const far = 2 ** 50;
    const stage = await DurableStage.start({ partition: { number: 9, of: OF, tokenFloor: far } });
    const token = await tokenOf(stage, 'a');
    assert.ok(token >= far && token < far + OF && token % OF === 9);
  });

  it('makes ids of items that no other partition makes at the same moment, nor itself after a restart', async () => {
    const ids = new Set<string>();
    let made = 0;
    for (const number of [0, 1, 2, 3]) {
      const partition = { number, of: 4, tokenFloor: 0 };
      const stage = await DurableStage.start({ partition });
      ids.add(await idOf(stage));
      ids.add(await idOf(await stage.restart({ partition }).recovered()));
      made += 2;
    }
    assert.equal(ids.size, made);
  });
});

describe('S273: coordinators of one process', () => {
  const limits = { payloadMemoryBytes: 10_000 };
  const payload = new Uint8Array(6_000);

  /** On one clock, each on a disk of its own. */
  async function two() {
    const shared = new SharedUse();
    const clock = new FakeClock();
    const begin = (number: number) =>
      DurableStage.start({
        clock,
        limits,
        shared,
        partition: { number, of: OF, tokenFloor: 0 },
        disk: new MemoryDisk(true),
      });
    return { shared, one: await begin(1), other: await begin(2), begin };
  }

  it('one gives back when it is closed, and a Submit that waits for room in another goes on by itself', async () => {
    const { shared, one, other } = await two();
    one.submit([{ itemId: 'i', payload }]);
    const waits = other.submit([{ itemId: 'i', payload }], { waitForRoom: 60_000 });
    await other.flush();
    assert.ok(waits.open);
    const closed = one.coordinator.close();
    await one.flush();
    await closed;
    await other.flush();
    assert.equal(waits.value.results[0]?.decision, 'accept');
    assert.deepEqual([shared.cores, shared.use.payloadBytes > payload.length], [1, true]);
  });

  it('one that is begun anew counts what it found from its first moment on', async () => {
    const { shared, one, other } = await two();
    one.submit([{ itemId: 'i', payload }]);
    await one.flush();
    const closed = one.coordinator.close();
    await one.flush();
    await closed;
    assert.equal(shared.use.payloadBytes, 0);
    const partition = { number: 1, of: OF, tokenFloor: 0 };
    await one.restart({ limits, shared, partition }).recovered();
    const refused = other.submit([{ itemId: 'i', payload }]);
    await other.flush();
    assert.equal(refused.refusal.kind, 'memory_full');
  });
});
