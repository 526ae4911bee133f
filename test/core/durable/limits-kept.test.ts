/** S276: limits that a person set, in a partition of a cluster and alone. */
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, it } from 'node:test';
import type { LimitsChange, LimitsView } from '../../../src/coordinator.js';
import type { LimitsRow } from '../../../src/core/contract/rows.js';
import { ByteReader } from '../../../src/local/journal/codec/byte-reader.js';
import { ByteWriter } from '../../../src/local/journal/codec/byte-writer.js';
import { keyOf, readRow, writeRow } from '../../../src/local/journal/codec/row-codec.js';
import { QUEUE, type SettingsChange } from '../../support/builders.js';
import { okay } from '../stage.js';
import { Lives } from './reborn.js';

const FAST = { perSecond: 100, burst: 10 };
const SLOW = { perSecond: 0.5, burst: 1 };
const WORLD: SettingsChange = { queues: { [QUEUE]: { durable: true, rate: SLOW, maxInFlight: 3 } } };
const NO_CHANGE: LimitsChange = { rate: undefined, maxInFlight: undefined };

function partition(change = WORLD): Lives {
  return new Lives(change, true, { number: 3, of: 64 });
}

function set({ stage }: Lives, change: Partial<LimitsChange>, queue = QUEUE): LimitsView {
  return okay(stage.core.setLimits(queue, { ...NO_CHANGE, ...change }, stage.now));
}

const limits = (lives: Lives, queue = QUEUE) => set(lives, {}, queue);

describe('S276: limits that a person set', () => {
  it('are there after a start of the next home, each of them, and stay for the one after it', () => {
    const lives = partition();
    set(lives, { rate: FAST });
    set(lives, { maxInFlight: 7 });
    lives.flush();
    for (let life = 0; life < 3; life++) {
      lives.restart();
      assert.deepEqual(limits(lives), { rate: FAST, maxInFlight: 7 });
      lives.flush();
    }
  });

  it('of which only one was set: the other is as the policy says, also when that says something else by now', () => {
    const lives = partition();
    set(lives, { maxInFlight: 7 });
    lives.flush();
    const change = { queues: { [QUEUE]: { durable: true, rate: FAST, maxInFlight: 1 } } };
    lives.restart({ change });
    assert.deepEqual(limits(lives), { rate: FAST, maxInFlight: 7 });
  });

  it('that were taken away stay away', () => {
    const lives = partition();
    set(lives, { rate: 'none', maxInFlight: 'none' });
    lives.flush();
    lives.restart();
    assert.deepEqual(limits(lives), { rate: undefined, maxInFlight: undefined });
  });

  it('bound what starts after the start', () => {
    const lives = partition();
    set(lives, { rate: 'none', maxInFlight: 1 });
    lives.flush();
    lives.restart();
    for (const key of ['a', 'b']) lives.stage.enQueue(key, { key, wait: 0 });
    assert.deepEqual(lives.stage.told, ['a ACCEPT', 'b BLOCK ahead 0']);
  });

  it('of a queue that was made for them are there, with the queue', () => {
    const lives = new Lives({ queues: {}, defaultPolicy: { durable: true } }, true, { number: 3, of: 64 });
    set(lives, { maxInFlight: 2 }, 'made');
    lives.flush();
    lives.restart();
    assert.equal(limits(lives, 'made').maxInFlight, 2);
    assert.ok(lives.stage.queue('made') !== undefined);
  });

  it('are one row however often they are set, and a question is none', () => {
    const lives = partition();
    limits(lives);
    set(lives, { maxInFlight: 2 });
    set(lives, { maxInFlight: 4 });
    lives.flush();
    const rows = lives.disk.rows().filter(({ table }) => table === 'limits');
    assert.deepEqual(rows, [{ table: 'limits', queue: QUEUE, rate: undefined, maxInFlight: 4 }]);
  });

  it('that were not flushed are lost with the crash', () => {
    const lives = partition();
    lives.flush();
    set(lives, { maxInFlight: 7 });
    assert.ok(lives.stage.core.urgent);
    lives.restart();
    assert.equal(limits(lives).maxInFlight, 3);
  });

  it('of a queue that is not there any more are deleted', () => {
    const lives = partition();
    set(lives, { maxInFlight: 7 });
    lives.flush();
    lives.restart({ change: { queues: {}, autoCreate: false } });
    lives.flush();
    assert.ok(lives.disk.rows().every(({ table }) => table !== 'limits'));
  });

  it('S54: alone are those of the configuration again, and no row of them is written', () => {
    const lives = new Lives(WORLD);
    set(lives, { rate: FAST, maxInFlight: 7 });
    lives.flush();
    assert.ok(lives.disk.rows().every(({ table }) => table !== 'limits'));
    lives.restart();
    assert.deepEqual(limits(lives), { rate: SLOW, maxInFlight: 3 });
  });

  it('are the same when they were written as bytes', () => {
    const rates = [undefined, 'none', FAST, SLOW] as const;
    const counts = [undefined, 'none', 1, 10_000_000] as const;
    for (const rate of rates) {
      for (const maxInFlight of counts) {
        const row: LimitsRow = { table: 'limits', queue: QUEUE, rate, maxInFlight };
        const writer = new ByteWriter();
        writer.reset();
        writeRow(writer, row, keyOf(row));
        const bytes = Buffer.from(writer.end());
        const reader = new ByteReader();
        reader.show({ bytes, size: bytes.length });
        assert.deepEqual(readRow(reader, 'limits', keyOf(row)), row);
      }
    }
  });
});
